package build

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/internal/model/fail"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/spec"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
)

// buildText builds from the text of a CSV file.
func buildText(t *testing.T, s spec.Spec, text string) (*manifest.Manifest, error) {
	t.Helper()
	input := filepath.Join(t.TempDir(), "rows.csv")
	if err := os.WriteFile(input, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s.Inputs = []string{input}
	return Directory(t.Context(), jobtest.Env(t), jobtest.Resolve(t, s), jobtest.Family, nil, filepath.Join(t.TempDir(), "out"), WorkOptions{RejectFile: filepath.Join(t.TempDir(), "rejects.jsonl")})
}

// TestRejectFileErrorIsSaidOnce uses a reject file that cannot be written, which ends the reading and is found again at the end.
func TestRejectFileErrorIsSaidOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "gone")
	input := filepath.Join(t.TempDir(), "rows.csv")
	testcheck.Must(t, errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(input, []byte("a,b\n,x\ny,z\n"), 0o600)))
	s := spec.Spec{Key: "a", BadRecords: "1", Inputs: []string{input}}
	w := WorkOptions{RejectFile: filepath.Join(dir, "rejects.jsonl"), Events: progress.Events{OnPhase: func(string) { _ = os.Remove(dir) }}}
	_, err := Directory(t.Context(), jobtest.Env(t), jobtest.Resolve(t, s), jobtest.Family, nil, filepath.Join(t.TempDir(), "out"), w)
	if text := fmt.Sprint(err); strings.Count(text, "no such file") != 1 || !strings.Contains(text, "reject file") {
		t.Error(text)
	}
}

// TestEmptyRowKeyIsABadRecord uses records with an empty key, for which HBase has no row.
func TestEmptyRowKeyIsABadRecord(t *testing.T) {
	for _, key := range []string{"orempty(a)", "orempty(a) + orempty(b)", "trim(orempty(a))", "upper(orempty(a))"} {
		s := spec.Spec{Key: key}
		_, err := buildText(t, s, "a,b,c\nx,y,1\n,,2\n")
		if fail.KindOf(err) != fail.BadRows || !strings.Contains(err.Error(), "record 2 at byte 12: row key is empty") {
			t.Errorf("%s: %v", key, err)
		}
		s.BadRecords = "1"
		if m, err := buildText(t, s, "a,b,c\nx,y,1\n,,2\n"); err != nil || m.Records != 2 || m.Rejected != 1 || m.Digest.Rows != 1 {
			t.Errorf("%s: %+v, %v", key, m, err)
		}
	}
}

// TestRecordWithoutCellsIsABadRecord uses records that leave no trace in the table.
func TestRecordWithoutCellsIsABadRecord(t *testing.T) {
	for name, m := range map[string]spec.Mapping{
		"text": {Cells: []spec.CellSpec{{Column: "b"}, {Column: "c"}}}, "converted": {Cells: []spec.CellSpec{{Column: "b", Type: "int"}, {Column: "c"}}},
	} {
		s := spec.Spec{Key: "a", Mapping: m}
		const text = "a,b,c\nx,1,y\nz,,\n"
		_, err := buildText(t, s, text)
		if fail.KindOf(err) != fail.BadRows || !strings.Contains(err.Error(), "record 2 at byte 12: the record has no cell") {
			t.Errorf("%s: %v", name, err)
		}
		s.BadRecords = "1"
		if m, err := buildText(t, s, text); err != nil || m.Records != 2 || m.Rejected != 1 || m.Digest.Rows != 1 {
			t.Errorf("%s: %+v, %v", name, m, err)
		}
		if name == "text" {
			s.Empty, s.BadRecords = "store", ""
			if m, err := buildText(t, s, text); err != nil || m.Digest.Rows != 2 || m.Digest.Cells != 4 {
				t.Errorf("%s stored: %+v, %v", name, m, err)
			}
		}
	}
}

// TestLongestRowKey checks that a key as long as HBase allows is accepted, and a longer one is not.
func TestLongestRowKey(t *testing.T) {
	s := spec.Spec{Key: "a"}
	if m, err := buildText(t, s, "a,b\n"+strings.Repeat("k", 32767)+",1\n"); err != nil || m.Digest.Rows != 1 {
		t.Errorf("%+v, %v", m, err)
	}
	if _, err := buildText(t, s, "a,b\n"+strings.Repeat("k", 32768)+",1\n"); fail.KindOf(err) != fail.BadRows || !strings.Contains(err.Error(), "record 1 at byte 4: row key is longer than 32767 bytes: it has 32768") {
		t.Error(err)
	}
}

// TestSpannedLinesAreInBothCounts checks that with a bad record of several lines the rows are the records minus the rejected ones.
func TestSpannedLinesAreInBothCounts(t *testing.T) {
	const text = "a,b\n1,x\n2,\"y\n3,z\n4,\",w\n5,v\n,\"u\nu\"\n" // the last has no key
	s := spec.Spec{Key: "a", BadRecords: "5"}
	m, err := buildText(t, s, text)
	if err != nil || m.Records != 7 || m.Rejected != 5 || m.Digest.Rows != 2 {
		t.Errorf("%+v, %v", m, err)
	}
	s.BadRecords = "4"
	if _, err := buildText(t, s, text); fail.KindOf(err) != fail.BadRows {
		t.Error(err)
	}
}

// TestUnclosedQuoteFailsWhateverTheBudget checks that an unclosed quote before many rows fails a build with any budget.
func TestUnclosedQuoteFailsWhateverTheBudget(t *testing.T) {
	s := spec.Spec{Key: "a", BadRecords: "100%"}
	_, err := buildText(t, s, "a,b\n"+strings.Repeat("1,x\n", 9)+"2,\"y\n"+strings.Repeat("3,z\n", 100_000))
	if fail.KindOf(err) != fail.Input || !strings.Contains(err.Error(), "rows.csv: record 10 at byte 40, column b: a quote is opened and not closed") {
		t.Error(err)
	}
}

// TestBadRecordOfAFurtherTable checks that the reason names the table for which a record is bad, if it is not the first, also in the reject file.
func TestBadRecordOfAFurtherTable(t *testing.T) {
	for name, c := range map[string]struct {
		table        spec.TableSpec
		record, want string
	}{
		"no cell":    {spec.TableSpec{Key: "a", Columns: []string{"c"}}, "x,y,", "table second: the record has no cell: all its values are empty"},
		"empty key":  {spec.TableSpec{Key: "b + a"}, "x,,1", "column b: table second: key column is empty"},
		"key's part": {spec.TableSpec{Key: "pad(b, 2) + a"}, "x,yyy,1", "(in the key's part pad(b, 2))"},
		"long key":   {spec.TableSpec{Key: "b + a"}, strings.Repeat("x", 32767) + ",y,1", "table second: row key is longer than 32767 bytes"},
		"type":       {spec.TableSpec{Key: "a", Mapping: spec.Mapping{Cells: []spec.CellSpec{{Column: "b", Type: "long"}}}}, "x,y,1", "column b: table second: value of 1 byte "},
		"filter":     {spec.TableSpec{Key: "a", Filter: "decimal(b) > 0"}, "x,y,1", "column b: table second: value of 1 byte "},
	} {
		c.table.Table = "second"
		s := spec.Spec{Table: "first", Key: "a", Tables: []spec.TableSpec{c.table}}
		build := func(s spec.Spec, rejects string) error {
			s.Inputs = []string{filepath.Join(t.TempDir(), "rows.csv")}
			testcheck.Must(t, os.WriteFile(s.Inputs[0], []byte("a,b,c\nx,1,1\n"+c.record+"\n"), 0o600))
			j := jobtest.Resolve(t, s)
			_, err := Directories(t.Context(), jobtest.Env(t), j, tablesShapes(t, j, nil), filepath.Join(t.TempDir(), "out"), WorkOptions{RejectFile: rejects})
			return err
		}
		err := build(s, "")
		if fail.KindOf(err) != fail.BadRows || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "table second: ") {
			t.Errorf("%s: %v", name, err)
		}
		s.BadRecords = "1"
		rejects := filepath.Join(t.TempDir(), "rejects.jsonl")
		testcheck.Must(t, build(s, rejects))
		if text, err := os.ReadFile(rejects); err != nil || !strings.Contains(string(text), "table second: ") {
			t.Errorf("%s: the reject file is %.300s, %v", name, text, err)
		}
		alone := spec.Spec{Table: "second", Key: c.table.Key, Mapping: c.table.Mapping, Filter: c.table.Filter}
		if err := build(alone, ""); name != "no cell" && (err == nil || strings.Contains(err.Error(), "table ")) {
			t.Errorf("%s in the first table: %v", name, err)
		}
	}
}
