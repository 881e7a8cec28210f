package faults

import (
	"bytes"
	"math/rand/v2"
	"os"
	"testing"

	"bulkload/internal/test/bench/data"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/hdfsio"
)

// TestChangedInputIsWhatTheJudgeExpects changes inputs in every form and way, and compares the files with the records that
// the judge expects.
func TestChangedInputIsWhatTheJudgeExpects(t *testing.T) {
	for _, form := range []data.Form{data.CSV, data.Dump, data.Parquet} {
		for _, how := range inputChanges() {
			t.Run(string(form)+" "+how, func(t *testing.T) {
				for seed := range uint64(4) {
					changed(t, form, how, seed)
				}
			})
		}
	}
}

func changed(t *testing.T, form data.Form, how string, seed uint64) {
	dir := t.TempDir()
	d, err := deliver(t.Context(), dir, Job{Spec: data.Spec{Table: data.Check, Rows: 121, Seed: seed, Regions: 3}, Form: form, Files: 2, Dir: true})
	testcheck.Must(t, err)
	if n := len(d.rows(3, false)); n != 121 {
		t.Fatalf("%d rows", n)
	}
	was := look(t, d)
	r := rand.New(rand.NewPCG(seed, inputStream))
	if how == Arrive {
		testcheck.Must(t, d.part(r))
	}
	next, err := d.change(how, r)
	testcheck.Must(t, err)
	if whole := how != Delete && (how != Truncate || form != data.Parquet); (next != nil) != whole {
		t.Fatalf("an export remains: %v", next != nil)
	}
	if next == nil {
		return
	}
	now := look(t, next)
	differ := 0
	for _, f := range next.files {
		want, err := d.encode(f.records)
		testcheck.Must(t, err)
		a, b := was[f.name], now[f.name]
		if !bytes.Equal(b.bytes, want) {
			t.Errorf("seed %d: %s holds other records", seed, f.name)
		}
		if a.info == nil || bytes.Equal(a.bytes, b.bytes) {
			continue
		}
		differ++
		one, _ := hdfsio.FileID(a.info)
		other, _ := hdfsio.FileID(b.info)
		switch {
		case (one == other) != (how != Replace):
			t.Errorf("file %d became %d", one, other)
		case how == Edit && !a.info.ModTime().Equal(b.info.ModTime()):
			t.Error("an edit shows in the time")
		case (how == Edit || how == Replace) && form != data.Parquet && len(a.bytes) != len(b.bytes):
			t.Errorf("%d bytes became %d", len(a.bytes), len(b.bytes))
		case how == Grow && form != data.Parquet && !bytes.HasPrefix(b.bytes, a.bytes):
			t.Error("what was there before is another")
		}
	}
	switch n := len(now); {
	case how == Add && n != 3, how == Remove && n != 1:
		t.Errorf("%d files", n)
	case how != Add && how != Remove && how != Arrive && differ == 0:
		t.Error("nothing changed")
	case how == Arrive && differ > 0:
		t.Error("what arrived is not what was meant")
	}
}

type looked struct {
	bytes []byte
	info  os.FileInfo
}

func look(t *testing.T, d *delivery) map[string]looked {
	all := map[string]looked{}
	for _, f := range d.files {
		b, err := os.ReadFile(f.name)
		testcheck.Must(t, err)
		info, err := os.Stat(f.name)
		testcheck.Must(t, err)
		all[f.name] = looked{b, info}
	}
	return all
}
