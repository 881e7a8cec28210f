package build

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/model/fail"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/spec"
	"bulkload/internal/test/jobtest"
)

// linesOf writes files of JSON lines. Only the last line has the members z and "lit.eral".
func linesOf(t *testing.T, files, lines int) string {
	t.Helper()
	dir := t.TempDir()
	for i := range files {
		var b strings.Builder
		for k := range lines {
			if i == files-1 && k == lines-1 {
				fmt.Fprintf(&b, `{"id":"%d-%d","z":null,"lit.eral":"x"}`+"\n", i, k)
				continue
			}
			fmt.Fprintf(&b, `{"id":"%d-%d","a":{"b":%d}}`+"\n", i, k, k)
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.jsonl", i)), []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestColumnThatNoRecordHas checks that a chosen member that no line of the input has is refused before anything is
// written, or causes a warning. A member of a single line is accepted, whichever split and worker reads it.
func TestColumnThatNoRecordHas(t *testing.T) {
	dir := linesOf(t, 3, 200)
	for _, c := range []struct {
		columns, missing string
		refused, warned  string
	}{
		{"id,a.b,z", "", "", ""},
		{"id,z,lit.eral", "", "", ""},
		{`id,lit\.eral`, "", "", ""},
		{"id,a.b,tpyo", "", "tpyo", ""},
		{"id,a.c,lit.eral,b", "", "a.c,b", ""},
		{"id,a.b,tpyo,y", "null", "", "tpyo,y"},
		{"id,a.b,z", "null", "", ""},
	} {
		for _, w := range []WorkOptions{{Workers: 1}, {Workers: 7, SplitSize: 500}, {Workers: 2, SplitSize: 40}} {
			s := jobtest.CSVSpec(dir)
			s.Key, s.Columns, s.Missing = "id", strings.Split(c.columns, ","), c.missing
			var warnings []string
			w.Events = progress.Events{OnWarn: func(msg string, kv ...any) {
				if strings.Contains(msg, "these columns") {
					warnings = append(warnings, fmt.Sprint(kv...))
				}
			}}
			out := filepath.Join(t.TempDir(), "out")
			m, err := Directory(t.Context(), jobtest.Env(t), jobtest.Resolve(t, s), jobtest.Family, nil, out, w)
			if c.refused != "" {
				if fail.KindOf(err) != fail.Input || !strings.Contains(err.Error(), "no record of the input has "+c.refused+";") {
					t.Errorf("%s: %v", c.columns, err)
				}
				if left, err := filepath.Glob(out + "/*/*"); err != nil || len(left) > 0 {
					t.Errorf("%s: %v, and left are %s", c.columns, err, left)
				}
				continue
			}
			if err != nil || m.Digest.Rows != 600 {
				t.Errorf("%s, missing %q: %v", c.columns, c.missing, err)
				continue
			}
			var want []string
			if c.warned != "" {
				want = []string{"columns" + c.warned + "records600"}
			}
			for i := range warnings {
				warnings[i] = strings.ReplaceAll(warnings[i], " ", "")
			}
			if !slices.Equal(warnings, want) {
				t.Errorf("%s: warnings %q, want %q", c.columns, warnings, want)
			}
		}
	}
}

// TestColumnThatNoFileHas checks that a chosen column that no file has causes a warning in formats whose files name their columns, alone and
// next to a file of another format, and that a column of one file only causes none.
func TestColumnThatNoFileHas(t *testing.T) {
	const samples = "../../../testdata/source/dialects/spark/"
	lines := writeInput(t, "x.csv", "id,other\n7,x\n")
	for _, c := range []struct{ inputs, columns, warned string }{
		{lines, "id,tpyo,other", "tpyo"},
		{samples + "parquet.parquet", "id,tpyo,check_id", "tpyo"},
		{samples + "orc.orc", "id,tpyo,check_id,y", "tpyo,y"},
		{samples + "avro-snappy.avro", "tpyo,id", "tpyo"},
		{samples + "parquet.parquet " + samples + "orc.orc", "id,tpyo", "tpyo"},
		{samples + "parquet.parquet " + lines, "id,check_id,other,tpyo", "tpyo"},
		{samples + "orc.orc " + lines, "id,check_id,other", ""},
	} {
		s := jobtest.CSVSpec(strings.Fields(c.inputs)...)
		s.Key, s.Columns, s.Missing, s.Duplicates = "id", strings.Split(c.columns, ","), "null", "last"
		var warned []string
		events := progress.Events{OnWarn: func(msg string, kv ...any) {
			if strings.Contains(msg, "these columns") {
				warned = append(warned, fmt.Sprint(kv[1]))
			}
		}}
		if _, err := Directory(t.Context(), jobtest.Env(t), jobtest.Resolve(t, s), jobtest.Family, nil, filepath.Join(t.TempDir(), "out"), WorkOptions{Events: events}); err != nil {
			t.Errorf("%s: %v", c.inputs, err)
			continue
		}
		if got := strings.ReplaceAll(strings.Join(warned, ";"), " ", ""); got != c.warned {
			t.Errorf("%s, columns %s: warned of %q, want %q", c.inputs, c.columns, got, c.warned)
		}
	}
}

// TestPartsSayWhatTheyLack checks that the missing columns of all parts are combined.
func TestPartsSayWhatTheyLack(t *testing.T) {
	s := jobtest.CSVSpec(linesOf(t, 2, 2000))
	s.Key = "id"
	for columns, want := range map[string]string{"id,a.b,z,lit.eral": "", "id,z,tpyo": "tpyo"} {
		s.Columns = strings.Split(columns, ",")
		for _, n := range []int{1, 2, 7} {
			_, _, runs, err := oneTable(s, nil).readParts(t, n)
			if err != nil {
				t.Fatal(err)
			}
			var parts []*PartRead
			for _, r := range runs {
				parts = append(parts, r.Read)
			}
			if n > 1 && len(parts[0].Lacking) == 0 {
				t.Errorf("%s: the first of %d parts has all columns", columns, n)
			}
			if got := strings.Join(lackingOf(parts), ","); got != want {
				t.Errorf("%s, %d parts: %q, want %q", columns, n, got, want)
			}
			if err := Judge(parts, spec.Spec{}); (err == nil) != (want == "") {
				t.Errorf("%s: %v", columns, err)
			}
		}
	}
}

// TestLiteralMember checks that a member with a dot in its name is the column of that name, and that a line that has the path too is bad.
func TestLiteralMember(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "x.jsonl")
	write := func(text string) {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := jobtest.CSVSpec(name)
	s.Key = "id"
	write(`{"id":1,"a.b":"x"}` + "\n" + `{"id":2,"a":{"b":"y"}}` + "\n" + `{"id":3,"a":"scalar","a.b":"z"}` + "\n")
	s.Columns = []string{"id", "a.b"}
	if got := strings.Join(cellsOf(t, s), " "); got != "1:a.b=x 1:id=1 2:a.b=y 2:id=2 3:a.b=z 3:id=3" {
		t.Error(got)
	}
	write(`{"id":1,"a.b":"x","c.d":"w"}` + "\n")
	s.Columns, s.Extra = nil, "ignore"
	if got := strings.Join(cellsOf(t, s), " "); got != "1:a.b=x 1:c.d=w 1:id=1" {
		t.Error(got)
	}
	write(`{"id":1,"a.b":"x","a":{"b":"y"}}` + "\n")
	s.Columns, s.Extra = []string{"id", "a.b"}, ""
	if _, err := Directory(t.Context(), jobtest.Env(t), jobtest.Resolve(t, s), jobtest.Family, nil, filepath.Join(t.TempDir(), "out"), WorkOptions{}); fail.KindOf(err) != fail.BadRows || !strings.Contains(err.Error(), `column a.b`) {
		t.Error(err)
	}
	s.Columns = []string{"id", "a.b", `a\.b`}
	if got := strings.Join(cellsOf(t, s), " "); got != `1:a.b=y 1:a\.b=x 1:id=1` {
		t.Error(got)
	}
}
