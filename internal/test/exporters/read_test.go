package exporters

import (
	"errors"
	"fmt"
	"testing"

	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/test/jobtest"
	"bulkload/pkg/source"
)

// read reads files like a job file with these settings, as a whole and cut at many positions, with the same result. Columns
// are those of the job.
func read(t *testing.T, settings string, columns []string, paths ...string) (table, error) {
	t.Helper()
	s, err := spec.ParseSpec("settings", []byte("{"+settings+"}"))
	if err != nil {
		t.Fatalf("%s: %v", settings, err)
	}
	s.Inputs, s.Columns = paths, columns
	j, err := s.ResolveTable()
	if err != nil {
		t.Fatalf("%s: %v", settings, err)
	}
	env := jobtest.Env(t)
	var whole table
	for i, size := range []int64{0, 4096, 150, 7} {
		if i > 0 && size < 100 && whole.size() > 4096 {
			continue // it takes long, and gives no more information
		}
		tab, err := readSplits(t, env.Source, j, size)
		if err != nil {
			return tab, err
		}
		if i == 0 {
			whole = tab
		} else if d := tab.differs(whole); d != "" {
			t.Fatalf("splits of %d bytes: %s", size, d)
		}
	}
	return whole, nil
}

func readSplits(t *testing.T, resolve source.Resolve, j spec.Job, size int64) (tab table, err error) {
	t.Helper()
	in, err := build.OpenInput(t.Context(), resolve, j, build.WorkOptions{SplitSize: size})
	if err != nil {
		return table{}, err
	}
	tab.columns = in.Source.Columns()
	r := in.Source.NewReader()
	for split := range in.Source.Splits() {
		if err := r.Read(t.Context(), split, func(b *source.Batch) error {
			for i := range b.Rows {
				row := make([]any, b.Cols)
				for c := range row {
					if !b.Null(i, c) {
						row[c] = string(b.Field(i, c))
					}
				}
				tab.rows = append(tab.rows, row)
			}
			return nil
		}); err != nil {
			return tab, err
		}
	}
	return tab, nil
}

// An export is a file that an exporter wrote.
type export struct {
	form
	paths  []string
	want   table // rows of the exporter
	sorted bool  // the order of rows in the files is undefined
}

// A form is a way to export, and the settings that read it.
type form struct {
	name     string
	clause   string            // the exporter's clause
	settings string            // bulkload's settings, in the form of a job file
	sample   string            // of the manifest: the result of the awkward table; none: that of the exporter's plainest form
	charset  string            // of the exporter's output
	refused  bool              // no settings read the rows correctly
	change   func(any) any     // the exporter's change of a random value; nil: none
	leave    func(string) bool // values that the form cannot represent; nil: none
	ends     string            // the exporter's text after the last value of all
	more     string            // exported columns that are not read
	set      []string          // settings of the exporter's session
	only     string            // version prefixes that support it

	partitions  []string      // columns that become directories
	unwritable  bool          // some versions do not support it
	fixedChange func(any) any // the exporter's change of the awkward table's values, where no sample has it
	random      bool          // only for random tables
	fixed       bool          // only for the awkward table
}

// tally counts the attempts.
type tally struct{ files, rows, refused, readBack, notReadBack, lossy, silent int }

func (n *tally) log(t *testing.T) {
	t.Logf("%d files, %d rows; %d refused as they must be; read back by the exporter itself: %d right, %d wrong or not at all; of values that a form cannot hold: %d refused, %d changed unseen",
		n.files, n.rows, n.refused, n.readBack, n.notReadBack, n.lossy, n.silent)
}

// check reads an export and compares it with the exporter's rows.
func (n *tally) check(t *testing.T, e export) {
	t.Helper()
	n.files++
	got, err := read(t, e.settings, e.want.columns, e.paths...)
	if e.refused {
		if err == nil {
			t.Fatalf("%s: it is read: %s", e.settings, got.differs(e.want))
		}
		if row := (*source.RowError)(nil); !errors.As(err, &row) && testing.Verbose() {
			t.Logf("refused: %v", err)
		}
		n.refused++
		return
	}
	if err != nil {
		t.Fatalf("%s: %v", e.settings, err)
	}
	want := e.want
	if e.sorted {
		got, want = got.sorted(), want.sorted()
	}
	if d := got.differs(want); d != "" {
		t.Fatalf("%s: %s", e.settings, d)
	}
	n.rows += len(got.rows)
}

// lossyCheck reads an export with values that its form cannot hold: the result is right or refused, or it is a trap, which is
// counted.
func (n *tally) lossyCheck(t *testing.T, e export) {
	t.Helper()
	got, err := read(t, e.settings, e.want.columns, e.paths...)
	if err != nil {
		n.lossy++
		return
	}
	if d := got.differs(e.want); d != "" {
		n.silent++
		t.Logf("trap: %s: read without an error: %s", e.settings, firstLine(d))
	}
}

func firstLine(s string) string { return fmt.Sprintf("%.300s", s) }
