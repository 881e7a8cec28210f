package faults

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"

	"bulkload/internal/test/bench/data"
)

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
