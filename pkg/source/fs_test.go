package source

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/internal/test/testcheck"
)

// disk resolves a path as the local file system does.
func disk(name string) (FS, string, error) {
	abs, err := filepath.Abs(name)
	return testcheck.Disk{}, abs, err
}

// writeFile creates a file in a new directory and returns its path.
func writeFile(t testing.TB, name string, data []byte) string {
	t.Helper()
	return testcheck.WriteFile(t, name, data)
}

// record is a copy of one record of a batch, with its position.
type record struct {
	Path   string
	Offset int64
	Values []string
}

// readAll reads all splits in order with one reader.
func readAll(ctx context.Context, in *Input) ([]record, error) {
	var all []record
	r := in.NewReader()
	for i, s := range in.Splits() {
		last, number := int64(-1), int64(0)
		err := r.Read(ctx, i, func(b *Batch) error {
			if b.Rows == 0 || b.Cols != len(in.Columns()) || len(b.Fields) != b.Rows*b.Cols || len(b.Offsets) != b.Rows || b.Split != i || b.Path != s.Path {
				return fmt.Errorf("split %d: the batch is inconsistent: %d rows, %d columns, %d fields, %d offsets", i, b.Rows, b.Cols, len(b.Fields), len(b.Offsets))
			}
			if b.First <= number {
				return fmt.Errorf("split %d: record %d comes after record %d", i, b.First, number)
			}
			number = b.First + int64(b.Rows) - 1
			for row := range b.Rows {
				rec := record{Path: b.Path, Offset: b.Offsets[row]}
				if rec.Offset <= last || rec.Offset < s.Start || rec.Offset >= s.End {
					return fmt.Errorf("split %d [%d, %d): offset %d after %d", i, s.Start, s.End, rec.Offset, last)
				}
				last = rec.Offset
				for c := range b.Cols {
					rec.Values = append(rec.Values, string(b.Field(row, c)))
				}
				all = append(all, rec)
			}
			return nil
		})
		if err != nil {
			return all, err
		}
	}
	return all, nil
}

// values returns the records without their positions.
func values(records []record) [][]string {
	var v [][]string
	for _, r := range records {
		v = append(v, r.Values)
	}
	return v
}

// showRows appends each row to got, with slashes between its values and - for NULL.
func showRows(t *testing.T, in *Input, got *[]string) (err error) {
	r := in.NewReader()
	for i := range in.Splits() {
		err = cmp.Or(err, r.Read(t.Context(), i, func(b *Batch) error {
			for row := range b.Rows {
				var values []string
				for c := range b.Cols {
					if values = append(values, "-"); !b.Null(row, c) {
						values[c] = string(b.Field(row, c))
					}
				}
				*got = append(*got, strings.Join(values, "/"))
			}
			return nil
		}))
	}
	return err
}

// load opens the inputs and reads them.
func load(t testing.TB, o Options, inputs ...string) ([]record, error) {
	in, err := Open(t.Context(), disk, inputs, o)
	if err != nil {
		return nil, err
	}
	return readAll(t.Context(), in)
}
