package export

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/internal/model/choice"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/spec"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testsnapshot"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/hfile"
)

// versionsJob returns a job that reads records as versions of rows, from CSV files with a header. stored: a cell has the time too.
func versionsJob(stored bool) spec.Spec {
	s := spec.Spec{Key: "id", Columns: []string{"id", "a", "n", "at"}, Timestamp: 1700000000000, Empty: "skip", Duplicates: "versions", Versions: 3}
	s.CellTimestamp = &spec.TimeColumn{Column: "at", Zone: "Asia/Shanghai"}
	s.Cells = []spec.CellSpec{{Column: "id"}, {Column: "a"}, {Column: "n", Type: "int"}}
	if stored {
		s.Cells = append(s.Cells, spec.CellSpec{Column: "at"})
	}
	return s
}

// TestVersionsLoadExportLoad builds records that are versions, exports the versions of the table in each format, and builds the export: the HFiles
// are the same byte for byte, whether a cell stores the time or not.
func TestVersionsLoadExportLoad(t *testing.T) {
	t.Parallel()
	r, env := testcheck.Rand(t), jobtest.Env(t)
	splits := [][]byte{[]byte("r0020"), []byte("r0041")}
	for round := range 6 {
		var text strings.Builder
		text.WriteString("id,a,n,at\n")
		for i := range 60 {
			for at := range r.IntN(4) {
				cell := func(v string) string { return []string{v, ""}[r.IntN(4)/3] }
				fmt.Fprintf(&text, "%s,%s,%s,2026-11-%02d 10:20:30%s\n", testsnapshot.RandomRow(i), cell(fmt.Sprint("v", r.IntN(100))), cell(fmt.Sprint(r.IntN(1000))), at+1, []string{"", ".5", ".057"}[r.IntN(3)])
			}
		}
		input := filepath.Join(t.TempDir(), "in.csv")
		writeOver(t, input, []byte(text.String()))
		s := versionsJob(round%2 == 0)
		s.Inputs = []string{input}
		first, m := built(t, env, s, splits)
		snap := labBuild(t, first, m, splits)
		digests := map[string]bool{}
		for _, format := range Formats() {
			job := jobtest.Resolve(t, s)
			p, err := Compile(Options{Format: Format(format), Job: &job, Workers: 2, Choice: choice.Asked{Versions: 3 + r.IntN(2)}})
			testcheck.Must(t, err)
			dir := filepath.Join(t.TempDir(), "out")
			made, err := p.Run(t.Context(), snap, hdfsio.Local{}, dir)
			if err != nil {
				t.Errorf("%s: %v", format, err)
				continue
			}
			digests[made.Digest.String()] = true
			again := s
			again.Inputs = []string{dir}
			second, _ := built(t, env, again, splits)
			if a, b := jobtest.Hashes(t, first), jobtest.Hashes(t, second); fmt.Sprint(a) != fmt.Sprint(b) {
				t.Errorf("%s: the files of what was exported are others: %d and %d", format, len(a), len(b))
			}
		}
		if len(digests) != 1 {
			t.Errorf("formats have the digests %v", digests)
		}
	}
}

// TestVersionsRefused checks that a job that would not read versions back unchanged is refused before the table is read, and that a stored time is
// compared with the timestamp.
func TestVersionsRefused(t *testing.T) {
	t.Parallel()
	plain, unlike := versionsJob(false), versionsJob(false)
	plain.CellTimestamp, plain.Duplicates, plain.Versions = nil, "", 0
	unlike.Duplicates, unlike.Versions = "last", 0
	for text, c := range map[string]struct {
		s       spec.Spec
		columns []string
	}{
		"has no cell_timestamp":               {plain, []string{"id", "a"}},
		"has duplicates: versions":            {unlike, nil},
		`column "at" has the time of each`:    {versionsJob(false), []string{"id", "a"}},
		`column "at": no cell stores it`:      {versionsJob(false), nil},
		"`versions`: the job has no cell_tim": {plain, []string{"id"}},
	} {
		job, o := jobtest.Resolve(t, c.s), Options{Format: CSV, Columns: c.columns, Choice: choice.Asked{Versions: 2}}
		if strings.Contains(text, "no cell stores it") {
			o.Choice.Versions = 0 // only a record of a version has a time
		}
		o.Job = &job
		if _, err := Compile(o); fail.KindOf(err) != fail.Config || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: %v", text, err)
		}
	}
	job := jobtest.Resolve(t, versionsJob(true))
	p, err := Compile(Options{Format: CSV, Job: &job, Choice: choice.Asked{Versions: 2}})
	testcheck.Must(t, err)
	at := func(ts int64) []hfile.Cell {
		var cells []hfile.Cell
		for _, c := range [][2]string{{"a", "v"}, {"at", "2023-11-15 06:13:20"}, {"id", "r"}, {"n", "\x00\x00\x00\x07"}} {
			cells = append(cells, testsnapshot.Put("r", "f", c[0], ts, c[1]))
		}
		return cells
	}
	const ts = 1700000000000
	for name, c := range map[string]struct {
		cells []hfile.Cell
		text  string
	}{
		"its time":     {at(ts), ""},
		"another time": {at(ts + 1), "row 1, column at: the cell is missing, or is not the timestamp of the version"},
		"no key":       {append(at(ts), testsnapshot.Put("r", "f", "a", ts+1000, "w"), testsnapshot.Put("r", "f", "at", ts+1000, "2023-11-15 06:13:21")), "row 1, column id: the version has no cell of it"},
		"none":         {append(at(ts), testsnapshot.Put("r", "f", "a", ts+1, "w"), testsnapshot.Put("r", "f", "id", ts+1, "r")), "row 1, column at: the cell is missing"},
	} {
		_, err := p.Run(t.Context(), labCells(t, c.cells), hdfsio.NewMemory(), "/out")
		if c.text == "" && err != nil || c.text != "" && (fail.KindOf(err) != fail.BadRows || !strings.Contains(err.Error(), c.text)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
