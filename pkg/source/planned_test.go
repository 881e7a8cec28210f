package source

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bulkload/pkg/hdfsio"
)

func local(name string) (FS, string, error) {
	name, err := filepath.Abs(name)
	return hdfsio.Local{}, name, err
}

// TestPlannedSplits checks that splits of an earlier Open give the same records, in every format, and that splits of
// other files are refused.
func TestPlannedSplits(t *testing.T) {
	for _, name := range []string{"check.csv", "check.dump", "check.parquet"} {
		inputs := []string{filepath.Join("../../testdata/exports", name)}
		o := Options{SplitSize: 40_000}
		if name == "check.dump" {
			csv, err := Open(t.Context(), local, []string{"../../testdata/exports/check.csv"}, Options{})
			if err != nil {
				t.Fatal(err)
			}
			o.Columns = csv.Columns()
		}
		in, err := Open(t.Context(), local, inputs, o)
		if err != nil {
			t.Fatal(err)
		}
		o.SplitSize, o.Splits = 0, in.Splits()
		again, err := Open(t.Context(), local, inputs, o)
		if err != nil || !slices.Equal(again.Splits(), in.Splits()) {
			t.Fatalf("%s: %v %v", name, again, err)
		}
		r := again.NewReader()
		for i := range again.Splits() {
			if err := r.Read(t.Context(), i, func(*Batch) error { return nil }); err != nil {
				t.Fatal(err)
			}
		}
		n := len(in.Splits())
		if again.Records() != 3000 || again.RecordsOf(0, n/2)+again.RecordsOf(n/2, n) != 3000 {
			t.Errorf("%s: %d records", name, again.Records())
		}
		short := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(short, []byte("id,name\n1,a\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if name == "check.parquet" {
			o.Splits = append(slices.Clone(o.Splits), Split{RowGroup: 99, Start: 0, End: 1})
			short = inputs[0]
		}
		if _, err := Open(t.Context(), local, []string{short}, o); err == nil || name != "check.dump" && !strings.Contains(err.Error(), "another file") {
			t.Errorf("%s: splits of another file: %v", name, err)
		}
		o.Splits = []Split{{File: 3, End: 1}}
		if _, err := Open(t.Context(), local, inputs, o); err == nil || !strings.Contains(err.Error(), "other inputs") {
			t.Errorf("%s: splits of other inputs: %v", name, err)
		}
		if files, err := List(t.Context(), local, inputs, Options{}); err != nil || len(files) != 1 || files[0].Size != in.Files()[0].Size {
			t.Errorf("%v %v", files, err)
		}
	}
}

// TestPartOfBudget checks that a part of an input is judged by the number of its bad records, but not by their share.
func TestPartOfBudget(t *testing.T) {
	for spec, judged := range map[string]bool{"1%": false, "3": true} {
		b, err := NewBudget(spec)
		if err != nil {
			t.Fatal(err)
		}
		b.Part = true
		b.Count(20_000)
		for i := range 500 {
			err = b.Reject(RowError{Offset: int64(i)})
		}
		if (err != nil) != judged || (b.Finish(20_000) != nil) != judged || b.Bad() != 500 {
			t.Errorf("%s: %v", spec, err)
		}
	}
}
