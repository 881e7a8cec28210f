package faults

import (
	"context"
	"encoding/binary"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"bulkload/internal/test/bench/data"
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

// Faults in the foundations of a job: its input, its files, its table. The program need not survive them. It may refuse
// with a message that names the cause, and must then do the job right when it is restarted.
const (
	InputChange = "input-change" // the input changes; Fault.How is the way
	BitFlip     = "bit-flip"     // one bit of a staged file changes
	Recreate    = "recreate"     // the table is dropped and created again, or truncated
)

// Seams returns the kinds of faults for which the program may refuse.
func Seams() []string { return []string{InputChange, BitFlip, Recreate} }

// mayRefuse reports whether a command may refuse after the fault.
func (f Fault) mayRefuse() bool { return slices.Contains(Seams(), f.Kind) }

// drawSeam draws the additional parameters of these faults.
func (f *Fault) drawSeam(r *rand.Rand) {
	f.Between = r.IntN(2) == 0
	f.Nth = 1 + r.IntN(6)
	soon := time.Duration(r.IntN(150)) * time.Millisecond
	early := r.IntN(3) > 0
	switch f.Kind {
	case InputChange:
		f.How = oneOf(r, inputChanges()...)
		f.Frozen = r.IntN(2) == 0
		switch {
		case f.Between:
			f.When.Event = oneOf(r, "plan", "attempt", "sorted", "written", "written", "built", "loading", "sending", "loaded", "loaded")
		case early || f.How == Arrive: // while the input is read
			f.When = Trigger{Event: oneOf(r, "plan", "attempt", "attempt"), After: soon}
		}
		if f.How == Arrive { // later it cannot be noticed that there is more
			f.When.Event = oneOf(r, "plan", "attempt", "sorted")
		}
	case BitFlip:
		f.How = oneOf(r, flipWays()...)
		f.Frozen = r.IntN(2) == 0
		// A running program reads the files once more between "built" and "loading"; a resumed one reads them when it
		// begins.
		if f.Between = early; early {
			f.When.Event = oneOf(r, "written", "written", "built", "loading", "prepared")
		} else {
			f.When = Trigger{Event: "written", After: soon / 10}
		}
	case Recreate:
		f.How = oneOf(r, dropped, dropped, truncated)
		f.Frozen = true
		f.When = Trigger{Event: oneOf(r, "plan", "sorted", "written", "built", "prepared", "sending", "loaded", "loaded", "loaded"), After: soon / 5}
	}
	if f.Between {
		f.Frozen, f.When.After = false, 0
		if slices.Contains([]string{"prepared", "sending", "loaded"}, f.When.Event) {
			f.Another = false // a program that is to stop then has ended before
		}
	}
}

// fitted adapts the job so that the effect of the fault can be judged, and the fault so that the job can have it.
func fitted(j Job, f Fault) (Job, Fault) {
	if !f.mayRefuse() {
		return j, f
	}
	j.Compact = false // the files show what was loaded before a restart
	if f.Kind != BitFlip && f.Pick%3 == 0 {
		j.Verify = "off"
	}
	if f.How == Add || f.How == Remove {
		j.Files, j.Dir = max(2, j.Files), true
	}
	if f.Kind == InputChange && !f.Between && f.When.Event != "" {
		j.Spec.Rows = min(3*j.Spec.Rows, 40_000) // so that reading them takes a while
	}
	if j.Form == data.Parquet && j.Files > 1 && j.Memory == "64MiB" {
		j.Memory = "512MiB"
	}
	if f.When.Event == "prepared" && j.Stage == "direct" { // that mode prepares nothing
		f.When.Event = "loading"
	}
	switch {
	case f.When.Event != "written" && f.When.Event != "loaded":
		f.Nth = 1
	default:
		f.Nth = 1 + (f.Nth-1)%j.Spec.Regions
	}
	return j, f
}

// kills reports whether the program kills itself at the fault's event.
func (f Fault) kills() bool { return f.Kind == KillAt || f.Between && !f.Another }

// between waits until a signal has ended the first run, and injects the fault.
func (r *round) between(ctx context.Context, p *process) (hit bool, err error) {
	if r.fault.Another {
		if !r.fault.When.wait(p, r.state) {
			return false, nil
		}
		p.signal(syscall.SIGTERM)
	}
	<-p.done
	if p.exit <= 128 {
		return false, nil // it ended, or failed, before
	}
	err = r.seam(ctx)
	return !r.late, err
}

// arrive completes the input, if that was not done until the end of the first run.
func (r *round) arrive(p *process) error {
	if !r.partly {
		return nil
	}
	r.late = true
	r.undecided = p.exit == 0 // it ended before there was anything to notice
	return r.changeInput()
}

// seam injects one of these faults.
func (r *round) seam(ctx context.Context) error {
	switch r.fault.Kind {
	case InputChange:
		return r.changeInput()
	case BitFlip:
		return r.flip(ctx)
	default:
		return r.recreate(ctx)
	}
}

// inputStream and flipStream distinguish the random streams of a fault's Pick.
const (
	inputStream = iota
	flipStream
	partStream
)

// changeInput changes the input.
func (r *round) changeInput() error {
	next, err := r.input.change(r.fault.How, rand.New(rand.NewPCG(r.fault.Pick, inputStream)))
	if err != nil {
		return err
	}
	if r.fault.How == Arrive {
		r.partly = false
		return nil // it is the input that was intended from the beginning
	}
	if r.input = next; next != nil {
		r.names = append(r.names, next.names()...)
		r.deliver(next, "the changed input")
	}
	return nil
}

// The ways to recreate a table.
const (
	dropped   = "drop"
	truncated = "truncate"
)

// recreate recreates the table with the same regions. Rows of others in it are lost.
func (r *round) recreate(ctx context.Context) error {
	all, _ := events(r.state)
	if !r.fault.Between && count(all, "loaded") >= r.job.Spec.Regions || count(all, "verified") > 0 {
		r.late = true // the job was done except for the verification
		return nil
	}
	var err error
	if r.fault.How == truncated {
		_, err = r.lab.admin(ctx, "truncate", r.table)
	} else if _, err = r.lab.admin(ctx, "drop", r.table); err == nil {
		err = r.create(ctx)
	}
	r.others, r.before, r.contents = nil, 0, nil
	r.deliver(r.input, "the input")
	return err
}

// count returns the number of occurrences of an event.
func count(all []string, one string) (n int) {
	for _, s := range all {
		if s == one {
			n++
		}
	}
	return n
}
