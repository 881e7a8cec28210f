package spec

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"

	"bulkload/internal/model/fail"
	"bulkload/pkg/hfile"
)

// TestLevelIsTheJobsAlone checks that the level of an earlier plan is not kept, since tables have none.
func TestLevelIsTheJobsAlone(t *testing.T) {
	f := DefaultFamily("f")
	for text, want := range map[string]hfile.Level{"better": hfile.LevelBetter, "Better": hfile.LevelBetter, "default": hfile.LevelDefault, "": hfile.LevelDefault} {
		f.Level = hfile.LevelBetter
		got, err := Spec{CompressionLevel: text}.ApplyTo(f)
		if err != nil || got.Level != want {
			t.Errorf("%q: %s, %v", text, got.Level, err)
		}
	}
	if _, err := (Spec{CompressionLevel: "9"}).ApplyTo(f); fail.KindOf(err) != fail.Config || !strings.Contains(err.Error(), `compression level "9"`) || !strings.Contains(err.Error(), "better") {
		t.Error(err)
	}
}

// TestLimitsOfAFamily checks that a job is refused before it reads anything if HFiles cannot have its block size, or HBase its number of versions.
func TestLimitsOfAFamily(t *testing.T) {
	f := DefaultFamily("f")
	if got, err := (Spec{BlockSize: hfile.MaxBlockSize}).ApplyTo(f); err != nil || got.BlockSize != hfile.MaxBlockSize {
		t.Error(got, err)
	}
	if _, err := (Spec{BlockSize: hfile.MaxBlockSize + 1}).ApplyTo(f); fail.KindOf(err) != fail.Config || !strings.Contains(err.Error(), "`block_size`") {
		t.Error(err)
	}
	over := math.MaxInt32
	over++
	s := Spec{Versions: math.MaxInt32, Duplicates: "versions"}
	s.CellTimestamp = &TimeColumn{}
	if err := s.checkVersions(true); err != nil {
		t.Error(err)
	}
	s.Versions = over
	if err := s.checkVersions(true); err == nil || !strings.Contains(err.Error(), "above 2147483647") {
		t.Error(err)
	}
}

// TestFamilyOfAnEarlierJournal checks that a family from before there were levels has the default level.
func TestFamilyOfAnEarlierJournal(t *testing.T) {
	f := DefaultFamily("f")
	b, err := json.Marshal(f)
	if err != nil || strings.Contains(string(b), "Level") {
		t.Errorf("%s, %v", b, err)
	}
	var got Family
	if err := json.Unmarshal([]byte(`{"Name":"f","Compression":1,"Encoding":3,"Zstd":0,"Bloom":1,"BloomPrefix":0,"BlockSize":0}`), &got); err != nil || got != f {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestOverrides checks that only settings of files that differ from the table's count.
func TestOverrides(t *testing.T) {
	table := DefaultFamily("f")
	table.Versions = 3
	for name, s := range map[string]Spec{"nothing": {}, "versions": {Duplicates: "versions", Versions: 2}, "encoding": {Encoding: "NONE"}} {
		f, err := s.ApplyTo(table)
		if err != nil || f.Overrides(table) != (name == "encoding") {
			t.Errorf("%s: %+v, %v", name, f, err)
		}
	}
}

// TestFamilyText checks that each setting of a family is in its text, so that messages and comparisons show it.
func TestFamilyText(t *testing.T) {
	plain := DefaultFamily("f")
	if got := plain.String(); got != "f (compression SNAPPY, encoding FAST_DIFF, bloom ROW)" {
		t.Error(got)
	}
	kind := reflect.TypeFor[Family]()
	for i := range kind.NumField() {
		other := plain
		switch v := reflect.ValueOf(&other).Elem().Field(i); v.Kind() {
		case reflect.String:
			v.SetString("g")
		case reflect.Int:
			v.SetInt(7)
		default:
			v.SetUint(v.Uint() ^ 1)
		}
		if other.String() == plain.String() {
			t.Errorf("%s is not in %s", kind.Field(i).Name, other)
		}
	}
}
