package faults

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
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

// delivery is the input of a job on disk, with its records. A change creates another delivery.
type delivery struct {
	table data.Table
	form  data.Form
	dir   string // the job's input is this directory; empty: the files
	files []inputFile
}

// inputFile is one file of a delivery.
type inputFile struct {
	name    string // path
	records [][][]byte
}

// records returns the records of a spec, in the order of a file.
func records(s data.Spec) (all [][][]byte, err error) {
	g, err := data.NewGenerator(s)
	if err != nil {
		return nil, err
	}
	for {
		raw, ok := g.Next()
		if !ok {
			return all, nil
		}
		fields := make([][]byte, len(raw))
		for i, b := range raw {
			fields[i] = bytes.Clone(b)
		}
		all = append(all, fields)
	}
}

// deliver writes the input of a job below a directory.
func deliver(ctx context.Context, dir string, j Job) (*delivery, error) {
	d := &delivery{table: j.Spec.Table, form: j.Form}
	if j.Dir {
		d.dir = filepath.Join(dir, "input")
		dir = d.dir
	}
	files := max(1, j.Files)
	for i := range files {
		s := j.Spec
		s.Seed += uint64(i)
		s.Rows = j.Spec.Rows/int64(files) + btoi(int64(i) < j.Spec.Rows%int64(files))
		name, err := data.WriteFile(ctx, dir, s, j.Form)
		if err != nil {
			return nil, err
		}
		all, err := records(s)
		if err != nil {
			return nil, err
		}
		d.files = append(d.files, inputFile{name, all})
	}
	return d, nil
}

func btoi(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// inputs returns the values of --input.
func (d *delivery) inputs() (all []string) {
	if d.dir != "" {
		return []string{d.dir}
	}
	for _, f := range d.files {
		all = append(all, f.name)
	}
	return all
}

// names returns the names by which a message can identify the input.
func (d *delivery) names() []string {
	all := []string{}
	if d.dir != "" {
		all = append(all, d.dir)
	}
	for _, f := range d.files {
		all = append(all, filepath.Base(f.name))
	}
	return all
}

// rows returns the rows that the table must have for the records, in the table's order.
func (d *delivery) rows(salts int, store bool) (all []row) {
	columns := d.table.Columns()
	for _, f := range d.files {
		for _, r := range f.records {
			fields := make([]string, len(r))
			for i, b := range r {
				fields[i] = string(b)
			}
			all = append(all, record(d.table, columns, fields, salts, store))
		}
	}
	sortRows(all)
	return all
}

// encode returns the bytes of a file of these records.
func (d *delivery) encode(records [][][]byte) ([]byte, error) {
	var b bytes.Buffer
	err := data.WriteRecords(&b, d.table, d.form, records)
	return b.Bytes(), err
}

// tail returns the bytes by which a file grows when these records are appended.
func (d *delivery) tail(records [][][]byte) ([]byte, error) {
	b, err := d.encode(records)
	if err != nil || d.form != data.CSV {
		return b, err
	}
	header, err := d.encode(nil)
	if err != nil || !bytes.HasPrefix(b, header) {
		return nil, fmt.Errorf("the header of a csv file: %w", err)
	}
	return b[len(header):], nil
}

// write writes a file in place, so that its inode stays the same.
func write(name string, b []byte) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.Write(b); err != nil {
		return err
	}
	return f.Truncate(int64(len(b)))
}
