package tablesource_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"testing"

	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/choice"
	"bulkload/internal/pipeline/tablesource"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testsnapshot"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/hfile"
	"bulkload/pkg/source"
)

// TestChoice checks, with random tables, that the records are the rows with chosen cells, with the newest of these, or their timestamps;
// also in other processes by a plan.
func TestChoice(t *testing.T) {
	t.Parallel()
	r := testcheck.Rand(t)
	const rows = 60
	for range 40 {
		kept := 1 + r.IntN(3)
		l := newLabOf(t, testsnapshot.Options{Families: []string{"f", "g"}, Versions: kept, Splits: []string{testsnapshot.RandomRow(20), testsnapshot.RandomRow(41)}[:r.IntN(3)], HFiles: hfile.Options{BlockSize: 128}})
		cells := testsnapshot.Random(r, rows, "f", "g")
		half := r.IntN(len(cells))
		l.Load(1, cells[:half]...)
		l.Load(2, cells[half:]...)
		l.Save()
		c := testsnapshot.RandomChoice(r, rows, "f", "g")
		c.Versions = r.IntN(4)
		files := tablesource.NewFiles(hdfsio.Local{}, l.Root, "s", tablesource.Ref{Snapshot: "s"}, nil)
		files.PartBytes, files.Choice = 1+int64(r.IntN(4000)), c
		if r.IntN(2) == 0 {
			files = l.planned(files)
		}
		names := []string{"$row", "$timestamp"}
		for _, family := range l.Families {
			for _, q := range []string{"id", "q0", "q1", "q2", "q3"} {
				if c.Has([]byte(family), []byte(q)) {
					names = append(names, family+":"+q)
				}
			}
		}
		in, err := source.Open(t.Context(), func(string) (source.FS, string, error) { return files, files.Dir(), nil }, []string{"snapshot:s"}, source.Options{Columns: names})
		testcheck.Must(t, err)
		got, _ := texts(t, in)
		if c.Versions > 0 {
			slices.Sort(got) // the newest is first in its row
		}
		if want := recordsOfChoice(cells, names, kept, c); !slices.Equal(got, want) {
			t.Fatalf("%+v: %d records, want %d\n%s\nwant\n%s", c, len(got), len(want), strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

// planned returns the snapshot as another process reads it.
func (l *lab) planned(files *tablesource.Files) *tablesource.Files {
	l.t.Helper()
	plan, err := files.Plan(l.t.Context(), "snapshot:s")
	testcheck.Must(l.t, err)
	b, err := json.Marshal(plan)
	testcheck.Must(l.t, err)
	var read tablesource.Planned
	testcheck.Must(l.t, json.Unmarshal(b, &read))
	env := &cluster.Env{Conf: &hdfsio.Conf{}, Log: slog.New(slog.DiscardHandler)}
	env.Conf.Set("hbase.rootdir", "file://"+l.Root, "test")
	mounted, err := read.Mount(l.t.Context(), env, nil)
	testcheck.Must(l.t, err)
	return mounted
}

// recordsOfChoice computes the expected records plainly, one line each, from cells of families that keep some versions.
func recordsOfChoice(cells []hfile.Cell, names []string, kept int, c choice.Choice) (lines []string) {
	seen := testsnapshot.Chosen(cells, max(1, min(kept, c.Versions)), c)
	rows := map[string]map[string]string{}
	newest := map[string]int64{}
	for _, x := range cells {
		v, ok := seen[testsnapshot.Key(&x)]
		if !ok || x.Type != hfile.Put {
			continue
		}
		row := string(x.Row)
		if c.Versions > 0 {
			row = fmt.Sprint(row, " ", x.Timestamp)
		}
		if rows[row] == nil {
			rows[row] = map[string]string{"$row": string(x.Row)}
		}
		rows[row][string(x.Family)+":"+string(x.Qualifier)] = v
		newest[row] = max(newest[row], x.Timestamp)
		rows[row]["$timestamp"] = strconv.FormatInt(newest[row], 10)
	}
	for _, record := range rows {
		var values []string
		for _, name := range names {
			text := "NULL"
			if v, ok := record[name]; ok {
				text = fmt.Sprintf("%q", v)
			}
			values = append(values, text)
		}
		lines = append(lines, strings.Join(values, " "))
	}
	slices.Sort(lines)
	return lines
}

// TestColumnThatIsNotChosen checks that such a column is refused: it would be NULL in every record.
func TestColumnThatIsNotChosen(t *testing.T) {
	l := smallLab(t)
	files := tablesource.NewFiles(hdfsio.Local{}, l.Root, "s", tablesource.Ref{Snapshot: "s"}, nil)
	files.Choice.Columns = []choice.Column{{Family: "f", Qualifier: []byte("q")}}
	_, err := source.Open(t.Context(), func(string) (source.FS, string, error) { return files, files.Dir(), nil }, []string{"snapshot:s"}, source.Options{Columns: []string{"$row", "f:q", "f:z"}})
	if err == nil || !strings.Contains(err.Error(), `column "f:z": `+"`only` does not have it") {
		t.Error(err)
	}
}
