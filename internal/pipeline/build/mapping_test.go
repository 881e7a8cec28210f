package build

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/model/fail"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/filecheck"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/race"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/hfile"
	"bulkload/pkg/partition"

	"pgregory.net/rapid"
)

// builtCells returns the cells in a build's files in the order of a table.
func builtCells(t testing.TB, dir string, m *manifest.Manifest) []string {
	t.Helper()
	var cells []hfile.Cell
	for _, f := range m.Files {
		r, c, err := filecheck.OpenHFile(t.Context(), hdfsio.Local{}, filepath.Join(dir, f.Name))
		if err != nil {
			t.Fatal(err)
		}
		rows := map[string]bool{}
		s := r.Scan()
		for s.Next() {
			c := *s.Cell()
			for _, b := range []*[]byte{&c.Row, &c.Family, &c.Qualifier, &c.Value, &c.Tags} {
				*b = bytes.Clone(*b)
			}
			rows[string(c.Row)] = true
			cells = append(cells, c)
		}
		if err := errors.Join(s.Err(), c.Close()); err != nil || int64(len(rows)) != f.Rows {
			t.Fatalf("%s: %v, %d rows, it says %d", f.Name, err, len(rows), f.Rows)
		}
	}
	slices.SortStableFunc(cells, func(a, b hfile.Cell) int { return hfile.Compare(&a, &b) })
	lines := make([]string, len(cells))
	for i := range cells {
		lines[i] = jobtest.CellLine(&cells[i])
	}
	return lines
}

// drawMapping draws a job's settings of its cells.
func drawMapping(t *rapid.T) spec.Mapping {
	var m spec.Mapping
	family := rapid.SampledFrom([]string{"", "a", "f", "z"})
	qualifier := rapid.SampledFrom([]string{"", "q", "b", "zz"})
	encoding := rapid.SampledFrom([]string{"", "hbase", "phoenix"})
	seen := map[string]bool{}
	keep := func(c spec.CellSpec, names ...string) {
		f := c.Family
		if f == "" {
			f = "f"
		}
		for _, n := range names {
			if seen[f+":"+n] {
				return
			}
		}
		for _, n := range names {
			seen[f+":"+n] = true
		}
		m.Cells = append(m.Cells, c)
	}
	one := func(column, typ string) {
		c := spec.CellSpec{Column: column, Family: family.Draw(t, "family"), Qualifier: qualifier.Draw(t, "qualifier"), Type: typ, Encoding: encoding.Draw(t, "encoding")}
		if c.Qualifier == "" {
			keep(c, column)
		} else {
			keep(c, c.Qualifier)
		}
	}
	number := rapid.SampledFrom([]string{"int", "long", "short", "double", "float", "decimal", "text", ""})
	if rapid.Bool().Draw(t, "number") {
		one("n", number.Draw(t, "type"))
	}
	if rapid.Bool().Draw(t, "day") {
		one("day", "date")
	}
	if rapid.Bool().Draw(t, "flag") {
		one("flag", "boolean")
	}
	if rapid.Bool().Draw(t, "text") {
		one("text", "text")
	}
	if rapid.Bool().Draw(t, "constant") {
		v := rapid.SampledFrom([]string{"", "7", "12"}).Draw(t, "value")
		c := spec.CellSpec{Value: &v, Family: family.Draw(t, "family"), Qualifier: "const"}
		if v != "" {
			c.Type = "long"
		}
		keep(c, "const")
	}
	if rapid.Bool().Draw(t, "json") {
		c := spec.CellSpec{JSON: true, Family: family.Draw(t, "family"), Qualifier: "json"}
		if rapid.Bool().Draw(t, "some") {
			c.Columns = []string{"n", "text"}
		}
		keep(c, "json")
	}
	if rapid.Bool().Draw(t, "stamp") {
		m.CellTimestamp = &spec.TimeColumn{Column: "at", Layout: "yyyyMMddHHmmss", Zone: "Asia/Shanghai"}
	}
	if rapid.Bool().Draw(t, "ttl") {
		m.CellTTL = &spec.TTLColumn{Column: "ttl", Unit: rapid.SampledFrom([]string{"", "s", "ms"}).Draw(t, "unit")}
	}
	if rapid.Bool().Draw(t, "skip") {
		m.Skip = []string{"more"}
	}
	if len(m.Cells) > 0 && rapid.Bool().Draw(t, "rest") && !slices.ContainsFunc([]string{"id", "n", "day", "flag", "text", "more", "at", "ttl"}, func(c string) bool { return seen["z:"+c] }) {
		m.Cells = append(m.Cells, spec.CellSpec{Rest: true, Family: "z"})
	}
	return m
}

func drawRecords(t *rapid.T) [][]string {
	var records [][]string
	for _, id := range rapid.SliceOfNDistinct(rapid.StringMatching(`[0-9]{1,6}`), 1, 60, rapid.ID).Draw(t, "ids") {
		records = append(records, []string{
			id,
			rapid.SampledFrom([]string{"", "0", "-12", "32767"}).Draw(t, "n"),
			rapid.SampledFrom([]string{"", "2017-01-01", "1969-12-31"}).Draw(t, "day"),
			rapid.SampledFrom([]string{"", "true", "n"}).Draw(t, "flag"),
			rapid.SampledFrom([]string{"", "拒绝 <1>", `a"b\`, "a longer text of some forty characters…"}).Draw(t, "text"),
			rapid.SampledFrom([]string{"", "x", "yy"}).Draw(t, "more"),
			rapid.SampledFrom([]string{"20150524002300", "20161231235959"}).Draw(t, "at"),
			rapid.SampledFrom([]string{"", "1", "86400", "9000000000000"}).Draw(t, "ttl"),
		})
	}
	return records
}

// TestMappedCells compares the files of random mappings with cells that are
// computed one by one.
func TestMappedCells(t *testing.T) {
	env := jobtest.Env(t)
	input := filepath.Join(t.TempDir(), "rows.dump")
	testcheck.Check(t, func(rt *rapid.T) {
		records := drawRecords(rt)
		jobtest.WriteRecords(t, input, records)
		s := spec.Spec{Inputs: []string{input}, Format: "dump", Columns: jobtest.MappedColumns, AllowEmpty: true, Key: "id", Timestamp: 1700000000000, Mapping: drawMapping(rt),
			BadRecords: "100%", // for rows without a cell
			Empty:      rapid.SampledFrom([]string{"skip", "store"}).Draw(rt, "empty")}
		out := t.TempDir()
		f := jobtest.Family
		f.Encoding = rapid.SampledFrom([]hfile.Encoding{hfile.EncodingFastDiff, hfile.EncodingNone, hfile.EncodingDiff}).Draw(rt, "encoding")
		m, err := Directory(t.Context(), env, jobtest.Resolve(t, s), f, partition.SaltSplits(10), out, WorkOptions{})
		if err != nil {
			rt.Fatal(err)
		}
		want := jobtest.PlainCells(t, s, jobtest.MappedColumns, records)
		got := builtCells(t, out, m)
		rows := map[string]bool{}
		for i := range want {
			rows[string(want[i].Row)] = true
			if i >= len(got) || got[i] != jobtest.CellLine(&want[i]) {
				rt.Fatalf("cell %d of %d is %v, want %s", i, len(want), got[i:min(i+1, len(got))], jobtest.CellLine(&want[i]))
			}
		}
		if len(got) != len(want) || m.Digest.Cells != int64(len(want)) || m.Digest.Rows != int64(len(rows)) || m.Records-m.Rejected != int64(len(rows)) {
			rt.Fatalf("%d cells and %s of %d records, %d rejected; want %d and %d rows", len(got), m.Digest, m.Records, m.Rejected, len(want), len(rows))
		}
	})
}

// TestWideCells compares rows that are made from several records with cells
// that are computed one by one, for each policy of duplicates.
func TestWideCells(t *testing.T) {
	env := jobtest.Env(t)
	input := filepath.Join(t.TempDir(), "rows.dump")
	testcheck.Check(t, func(rt *rapid.T) {
		records := drawRecords(rt)
		for _, r := range records {
			r[0] = rapid.SampledFrom([]string{"1", "2", "21", "7"}).Draw(rt, "id")
			r[5] = rapid.SampledFrom([]string{"x", "yy", "a longer name", "z", "zz", "ä"}).Draw(rt, "name")
			r[6] = rapid.StringMatching(`201[0-4]0[1-9]01000000`).Draw(rt, "at")
		}
		mark := "m"
		m := spec.Mapping{Cells: []spec.CellSpec{{Column: "n", Family: rapid.SampledFrom([]string{"", "g"}).Draw(rt, "family"), QualifierFrom: "more", Type: rapid.SampledFrom([]string{"", "long"}).Draw(rt, "type")}}}
		if rapid.Bool().Draw(rt, "mark") {
			m.Cells = append(m.Cells, spec.CellSpec{Value: &mark, Family: "a", QualifierFrom: "more"})
		}
		if rapid.Bool().Draw(rt, "text") {
			m.Cells = append(m.Cells, spec.CellSpec{Column: "text", Family: "h"})
		}
		if rapid.Bool().Draw(rt, "rest") {
			m.Cells = append(m.Cells, spec.CellSpec{Rest: true, Family: "z"})
			m.Skip = []string{"day"}
		}
		if rapid.Bool().Draw(rt, "stamp") {
			m.CellTimestamp = &spec.TimeColumn{Column: "at", Layout: "yyyyMMddHHmmss", Zone: "Asia/Shanghai"}
		}
		if rapid.Bool().Draw(rt, "ttl") {
			m.CellTTL = &spec.TTLColumn{Column: "ttl"}
		}
		jobtest.WriteRecords(t, input, records)
		s := spec.Spec{Inputs: []string{input}, Format: "dump", Columns: jobtest.MappedColumns, AllowEmpty: true, Key: "id", Timestamp: 1700000000000, Mapping: m,
			Duplicates: rapid.SampledFrom([]string{"fail", "first", "last"}).Draw(rt, "duplicates")}
		if m.CellTimestamp != nil && rapid.Bool().Draw(rt, "versions") {
			s.Duplicates, s.Versions = "versions", rapid.IntRange(2, 4).Draw(rt, "most")
			if rapid.Bool().Draw(rt, "plain") { // each record has all cells of a row
				for i := range m.Cells {
					if c := &m.Cells[i]; c.QualifierFrom != "" {
						c.QualifierFrom, c.Qualifier = "", "q"
					}
				}
				s.BadRecords = "100%" // for rows without a cell
			}
		}
		want, ok := jobtest.PlainWideCells(t, s, jobtest.MappedColumns, records)
		out := t.TempDir()
		family, err := s.ApplyTo(jobtest.Family)
		if err != nil {
			rt.Fatal(err)
		}
		got, err := Directory(t.Context(), env, jobtest.Resolve(t, s), family, partition.SaltSplits(10), out, WorkOptions{})
		if (s.Duplicates == "fail" || s.Duplicates == "versions") && !ok {
			if fail.KindOf(err) != fail.BadRows || !strings.Contains(err.Error(), "two records have other values of") || !strings.Contains(err.Error(), "rows.dump at offset") {
				rt.Fatalf("clashing cells: %v", err)
			}
			return
		}
		if err != nil {
			rt.Fatal(err)
		}
		lines := builtCells(t, out, got)
		for i := range want {
			if i >= len(lines) || lines[i] != jobtest.CellLine(&want[i]) {
				rt.Fatalf("cell %d of %d is %v, want %s", i, len(want), lines[i:min(i+1, len(lines))], jobtest.CellLine(&want[i]))
			}
		}
		if len(lines) != len(want) || got.Digest.Cells != int64(len(want)) {
			rt.Fatalf("%d cells and %s, want %d", len(lines), got.Digest, len(want))
		}
	})
}

// TestWideRowTooLarge checks the error for more records of a key than fit in the memory for sorting.
func TestWideRowTooLarge(t *testing.T) {
	if race.On {
		t.Skip("makes a row of 240,000 cells")
	}
	env := jobtest.Env(t)
	input := filepath.Join(t.TempDir(), "rows.dump")
	var records [][]string
	for i := range 120_000 {
		records = append(records, []string{"1", fmt.Sprint(i), "v"})
	}
	jobtest.WriteRecords(t, input, records)
	s := spec.Spec{Inputs: []string{input}, Format: "dump", Columns: []string{"id", "q", "v"}, Key: "id", Mapping: spec.Mapping{Cells: []spec.CellSpec{{Column: "v", QualifierFrom: "q"}}}}
	if _, err := Directory(t.Context(), env, jobtest.Resolve(t, s), jobtest.Family, nil, t.TempDir(), WorkOptions{}); err != nil {
		t.Fatal(err)
	}
	for i := range 120_000 {
		records = append(records, []string{"1", fmt.Sprint("a", i), "v"})
	}
	jobtest.WriteRecords(t, input, records)
	if _, err := Directory(t.Context(), env, jobtest.Resolve(t, s), jobtest.Family, nil, t.TempDir(), WorkOptions{}); fail.KindOf(err) != fail.BadRows || !strings.Contains(err.Error(), `records with one key, of 1 byte, take more than`) {
		t.Error(err)
	}
}

// TestPlainMappingChangesNothing builds check with a mapping that states the
// defaults.
func TestPlainMappingChangesNothing(t *testing.T) {
	env := jobtest.Env(t)
	s := jobtest.Spec(t, "check")
	s.Inputs, s.Timestamp = []string{jobtest.Export(t, "check.csv")}, 1700000000000
	var sums []string
	for _, m := range []spec.Mapping{{}, {Cells: []spec.CellSpec{{Rest: true}}}, {Cells: []spec.CellSpec{{Column: "check_id", Type: "text"}, {Rest: true}}}} {
		s.Mapping = m
		out := t.TempDir()
		if _, err := Directory(t.Context(), env, jobtest.Resolve(t, s), jobtest.Family, partition.SaltSplits(10), out, WorkOptions{}); err != nil {
			t.Fatal(err)
		}
		sums = append(sums, fmt.Sprintf("%x", sha256.Sum256(fmt.Append(nil, jobtest.Hashes(t, out)))))
	}
	if sums[0] != sums[1] || sums[0] != sums[2] {
		t.Errorf("files differ: %q", sums)
	}
}

// TestBadValues checks that records whose values cannot be converted are rejected.
func TestBadValues(t *testing.T) {
	env := jobtest.Env(t)
	input := filepath.Join(t.TempDir(), "rows.csv")
	if err := os.WriteFile(input, []byte("id,n\n1,5\n2,x\n3,\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := spec.Spec{Inputs: []string{input}, Key: "id", Mapping: spec.Mapping{Cells: []spec.CellSpec{{Column: "id"}, {Column: "n", Type: "int"}}}}
	_, err := Directory(t.Context(), env, jobtest.Resolve(t, s), jobtest.Family, nil, t.TempDir(), WorkOptions{})
	if fail.KindOf(err) != fail.BadRows || !strings.Contains(err.Error(), `rows.csv: record 2 at byte 9, column n: value of 1 byte is not a whole number (type int)`) {
		t.Error(err)
	}
	s.BadRecords = "1"
	m, err := Directory(t.Context(), env, jobtest.Resolve(t, s), jobtest.Family, nil, t.TempDir(), WorkOptions{})
	if err != nil || m.Rejected != 1 || m.Digest.Rows != 2 || m.Digest.Cells != 3 {
		t.Errorf("%+v, %v", m, err)
	}
}

// TestUnderscoreFamilies builds files of a family whose name begins with an underscore, as HBase allows, and checks that family
// names that are the program's own directory names are refused.
func TestUnderscoreFamilies(t *testing.T) {
	for family, ok := range map[string]bool{"_cf": true, "_": true, WritingDir: false, MergeDir: false, TemporaryDir: false, LoadingPrefix + "1": false} {
		m, err := buildText(t, spec.Spec{Key: "a", Mapping: spec.Mapping{Cells: []spec.CellSpec{{Column: "b", Family: family}}, Skip: []string{"a", "c"}}}, "a,b,c\nx,1,y\n")
		if (err == nil) != ok || err != nil && (fail.KindOf(err) != fail.Config || !strings.Contains(err.Error(), family)) {
			t.Errorf("family %s: %v", family, err)
		}
		if ok && err == nil && (len(m.Files) != 1 || m.Files[0].Family != family || !strings.HasPrefix(m.Files[0].Name, family+"/")) {
			t.Errorf("family %s: %+v", family, m.Files)
		}
	}
}

// TestRecordCollidesWithItself checks that a record whose qualifier from a column is that of another cell of it is refused under every policy: none says
// which of its two values is right.
func TestRecordCollidesWithItself(t *testing.T) {
	for _, duplicates := range []string{"fail", "first", "last", "versions"} {
		s := spec.Spec{Key: "id", Duplicates: duplicates, Mapping: spec.Mapping{Cells: []spec.CellSpec{{Column: "v", QualifierFrom: "o"}, {Column: "name"}}}}
		if duplicates == "versions" {
			s.Versions, s.CellTimestamp = 3, &spec.TimeColumn{Column: "t", Layout: "unixms"}
		}
		const header = "id,o,v,name,t\n"
		family, err := s.ApplyTo(jobtest.Family)
		testcheck.Must(t, err)
		build := func(text string) error {
			s.Inputs = []string{filepath.Join(t.TempDir(), "rows.csv")}
			testcheck.Must(t, os.WriteFile(s.Inputs[0], []byte(text), 0o600))
			_, err := Directory(t.Context(), jobtest.Env(t), jobtest.Resolve(t, s), family, nil, filepath.Join(t.TempDir(), "out"), WorkOptions{})
			return err
		}
		err = build(header + "0,name,4,4,6\n2,x,7,bob,5\n1,name,5,bob,6\n")
		if fail.KindOf(err) != fail.BadRows || !strings.Contains(err.Error(), "a record makes two cells of family f with one qualifier, of 4 bytes") || strings.Contains(err.Error(), "two r") ||
			strings.Count(err.Error(), "rows.csv at offset 39 (line 4)") != 1 || strings.Contains(err.Error(), "keeps one") {
			t.Errorf("%s: %v", duplicates, err)
		}
		if err := build(header + "0,name,4,4,6\n1,x,7,bob,5\n"); err != nil {
			t.Errorf("%s, equal values: %v", duplicates, err)
		}
	}
}
