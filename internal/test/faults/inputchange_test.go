package faults

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"

	"bulkload/internal/test/bench/data"
)

// The ways to change an input.
const (
	Arrive   = "arrive"   // the job begins with a part of a file; the rest arrives later
	Grow     = "grow"     // records are appended to a file
	Replace  = "replace"  // another file of the same size is renamed over it
	Edit     = "edit"     // one byte of some values is changed, and the time is set back
	Truncate = "truncate" // a file ends earlier
	Add      = "add"      // a directory has one file more
	Remove   = "remove"   // a directory has one file less
	Delete   = "delete"   // everything is removed
)

func inputChanges() []string {
	return []string{Arrive, Grow, Replace, Edit, Truncate, Add, Remove, Delete}
}

// change changes the input on disk: one of its files or, if the result is another state of the whole, every other time all
// of them. It returns the new delivery, or nil if it is no longer an export.
func (d *delivery) change(how string, r *rand.Rand) (*delivery, error) {
	next := *d
	next.files = slices.Clone(d.files)
	i := r.IntN(len(d.files))
	f := &next.files[i]
	some := next.files[i : i+1]
	if r.IntN(2) == 0 {
		some = next.files
	}
	var err error
	whole := true
	switch how {
	case Arrive:
		err = each(next.files, d.rewrite)
	case Grow:
		err = each(some, func(f *inputFile) error { return d.grow(f, r) })
	case Replace:
		sameTime := r.IntN(2) == 0
		err = each(some, func(f *inputFile) error { return d.replace(f, sameTime) })
	case Edit:
		err = each(some, func(f *inputFile) error { return d.edit(f, r) })
	case Truncate:
		err = each(some, func(f *inputFile) error {
			ok, err := d.truncate(f, r)
			whole = whole && ok
			return err
		})
	case Add:
		var b []byte
		added := inputFile{name: filepath.Join(d.dir, "added-"+filepath.Base(f.name))}
		if added.records, err = more(d.table, f.records, r); err == nil {
			if b, err = d.encode(added.records); err == nil {
				err = os.WriteFile(added.name, b, 0o644)
			}
		}
		next.files = append(next.files, added)
	case Remove:
		err = os.Remove(f.name)
		next.files = slices.Delete(next.files, i, i+1)
	case Delete:
		whole = false
		for _, f := range d.files {
			if e := os.Remove(f.name); e != nil && !errors.Is(e, fs.ErrNotExist) {
				err = errors.Join(err, e)
			}
		}
	default:
		err = fmt.Errorf("no way %q to change an input", how)
	}
	if err != nil {
		return nil, fmt.Errorf("%s the input: %w", how, err)
	}
	if !whole || len(next.files) == 0 {
		return nil, nil
	}
	return &next, nil
}

// each calls do for each file, until it fails.
func each(files []inputFile, do func(*inputFile) error) error {
	for i := range files {
		if err := do(&files[i]); err != nil {
			return err
		}
	}
	return nil
}

// part keeps only the beginning of one of the files, half of the time with a part of the next record.
func (d *delivery) part(r *rand.Rand) error {
	f := d.files[r.IntN(len(d.files))]
	b, err := d.encode(f.records[:len(f.records)/2])
	if err != nil || d.form == data.Parquet {
		return errors.Join(err, os.Truncate(f.name, 1000))
	}
	next, err := d.tail(f.records[len(f.records)/2:][:1])
	if err != nil {
		return err
	}
	return os.Truncate(f.name, int64(len(b)+r.IntN(2)*r.IntN(len(next))))
}

// more returns records that are not in a file yet.
func more(t data.Table, have [][][]byte, r *rand.Rand) ([][][]byte, error) {
	return records(data.Spec{Table: t, Rows: int64(1 + r.IntN(1+len(have)/2)), Seed: r.Uint64() >> 1})
}

// rewrite rewrites a whole file in place.
func (d *delivery) rewrite(f *inputFile) error {
	b, err := d.encode(f.records)
	if err != nil {
		return err
	}
	return write(f.name, b)
}

func (d *delivery) grow(f *inputFile, r *rand.Rand) error {
	added, err := more(d.table, f.records, r)
	if err != nil {
		return err
	}
	f.records = slices.Concat(f.records, added)
	if d.form == data.Parquet { // Parquet cannot be appended to: the file is rewritten in place
		return d.rewrite(f)
	}
	b, err := d.tail(added)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(f.name, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = file.Write(b)
	return err
}

// replace puts another file of the same size under the name.
func (d *delivery) replace(f *inputFile, sameTime bool) error {
	was, err := os.Stat(f.name)
	if err != nil {
		return err
	}
	f.records = slices.Clone(f.records)
	for i := range f.records {
		f.records[i] = turned(f.records[i], len(f.records[i])-1)
	}
	b, err := d.encode(f.records)
	if err != nil {
		return err
	}
	if d.form != data.Parquet && int64(len(b)) != was.Size() {
		return fmt.Errorf("the file has %d bytes, the other %d", was.Size(), len(b))
	}
	other := filepath.Join(filepath.Dir(cmp.Or(d.dir, f.name)), "other")
	if err := os.WriteFile(other, b, 0o644); err != nil {
		return err
	}
	if sameTime {
		if err := os.Chtimes(other, was.ModTime(), was.ModTime()); err != nil {
			return err
		}
	}
	return os.Rename(other, f.name)
}

// edit changes one digit of each of some records, occasionally in their keys.
func (d *delivery) edit(f *inputFile, r *rand.Rand) error {
	was, err := os.Stat(f.name)
	if err != nil {
		return err
	}
	old, err := d.encode(f.records)
	if err != nil {
		return err
	}
	f.records = slices.Clone(f.records)
	const most = 20
	for range 1 + r.IntN(most) {
		i := r.IntN(len(f.records))
		column := len(f.records[i]) - 1
		if r.IntN(3) == 0 {
			column = 0 // the id, which is the end of the key
		}
		f.records[i] = turned(f.records[i], column)
	}
	b, err := d.encode(f.records)
	if err != nil {
		return err
	}
	if len(b) != len(old) {
		err = write(f.name, b) // Parquet
	} else {
		err = writeOver(f.name, old, b)
	}
	return errors.Join(err, os.Chtimes(f.name, was.ModTime(), was.ModTime()))
}

// writeOver writes only the bytes that differ.
func writeOver(name string, old, b []byte) error {
	file, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	for i := range b {
		if b[i] != old[i] {
			if _, err := file.WriteAt(b[i:i+1], int64(i)); err != nil {
				return err
			}
		}
	}
	return nil
}

// turned returns a record with the last digit of a column changed.
func turned(record [][]byte, column int) [][]byte {
	next := slices.Clone(record)
	v := bytes.Clone(record[column])
	if i := bytes.LastIndexAny(v, "0123456789"); i >= 0 {
		v[i] = '0' + (v[i]-'0'+1)%10
	}
	next[column] = v
	return next
}

// truncate cuts a file after one of its records, a Parquet file anywhere.
func (d *delivery) truncate(f *inputFile, r *rand.Rand) (whole bool, err error) {
	if len(f.records) < 2 {
		return true, fmt.Errorf("%d records", len(f.records))
	}
	if d.form == data.Parquet {
		info, err := os.Stat(f.name)
		if err != nil {
			return false, err
		}
		return false, os.Truncate(f.name, 1+r.Int64N(info.Size()-1))
	}
	f.records = slices.Clone(f.records[:1+r.IntN(len(f.records)-1)])
	b, err := d.encode(f.records)
	if err != nil {
		return false, err
	}
	return true, os.Truncate(f.name, int64(len(b)))
}
