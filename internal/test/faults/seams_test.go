package faults

import (
	"encoding/binary"
	"hash/crc32"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"bulkload/internal/test/testcheck"
)

// TestSeamsAreDrawn draws many rounds: a seed gives the same round again, and each can be run.
func TestSeamsAreDrawn(t *testing.T) {
	ways := map[string]int{}
	for _, kind := range Seams() {
		for seed := range uint64(500) {
			j, f := Draw(seed, kind)
			if again, same := Draw(seed, kind); !reflect.DeepEqual(j, again) || f != same {
				t.Fatalf("seed %d: %v %v, then %v %v", seed, j, f, again, same)
			}
			ways[kind+" "+f.How]++
			switch {
			case f.How == "":
				t.Errorf("seed %d: no way", seed)
			case f.Between && (f.Frozen || f.When.Event == "" || f.When.After > 0):
				t.Errorf("seed %d: %s", seed, f)
			case f.kills() && f.Nth > j.Spec.Regions:
				t.Errorf("seed %d: event %d of %d", seed, f.Nth, j.Spec.Regions)
			case j.Compact:
				t.Errorf("seed %d: compactions are on", seed)
			case (f.How == Add || f.How == Remove) && (!j.Dir || j.Files < 2):
				t.Errorf("seed %d: %s of %s", seed, f, j)
			case f.When.Event == "prepared" && j.Stage == "direct":
				t.Errorf("seed %d: nothing is prepared: %s", seed, j)
			case !strings.Contains(f.String(), f.How):
				t.Errorf("seed %d: %s", seed, f)
			}
		}
	}
	if want := len(inputChanges()) + 4 + 2; len(ways) != want {
		t.Errorf("%d ways, want %d: %v", len(ways), want, ways)
	}
}

// TestOverlay puts layers over each other.
func TestOverlay(t *testing.T) {
	got := overlay(
		[]row{{"b", []cell{{"x", "old"}, {"y", "stays"}}}, {"a", []cell{{"x", "1"}}}},
		[]row{{"b", []cell{{"x", "new"}}}, {"c", []cell{{"z", "2"}}}})
	want := []row{{"a", []cell{{"x", "1"}}}, {"b", []cell{{"x", "new"}, {"y", "stays"}}}, {"c", []cell{{"z", "2"}}}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestMendChecksum flips a bit of a replica, and updates its checksums, of both kinds and in the last chunk too.
func TestMendChecksum(t *testing.T) {
	for kind, table := range map[byte]*crc32.Table{1: crc32.IEEETable, 2: crc32.MakeTable(crc32.Castagnoli)} {
		for _, at := range []int64{0, 511, 512, 1199} {
			name := filepath.Join(t.TempDir(), "blk_7")
			b := make([]byte, 1200)
			for i := range b {
				b[i] = byte(i * 7)
			}
			testcheck.Must(t, os.WriteFile(name, b, 0o644))
			meta := func(b []byte) string {
				m := []byte{0, 1, kind, 0, 0, 2, 0}
				for i := 0; i < len(b); i += 512 {
					m = binary.BigEndian.AppendUint32(m, crc32.Checksum(b[i:min(i+512, len(b))], table))
				}
				return string(m)
			}
			testcheck.Must(t, os.WriteFile(name+"_1001.meta", []byte(meta(b)), 0o644))
			testcheck.Must(t, flipInFile(name, at, 3))
			testcheck.Must(t, mendChecksum(name, at))
			b[at] ^= 8
			now, err := os.ReadFile(name)
			testcheck.Must(t, err)
			sums, err := os.ReadFile(name + "_1001.meta")
			testcheck.Must(t, err)
			if string(now) != string(b) || string(sums) != meta(b) {
				t.Errorf("kind %d, byte %d: the checksums do not agree", kind, at)
			}
		}
	}
}
