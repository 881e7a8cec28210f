package export

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"strconv"
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
	"bulkload/pkg/keygen/rowkey"
)

// askedFor returns the text form of a choice of one range.
func askedFor(c choice.Choice) (a choice.Asked) {
	a.Versions = c.Versions
	if len(c.Ranges) > 0 {
		a.StartRow, a.StopRow = rowkey.String(c.Ranges[0].Start), rowkey.String(c.Ranges[0].Stop)
	}
	if c.Since > 0 {
		a.Since = strconv.FormatInt(c.Since, 10)
	}
	if c.Until > 0 {
		a.Until = strconv.FormatInt(c.Until, 10)
	}
	for _, x := range c.Columns {
		name := x.Family
		if x.Qualifier != nil {
			name += ":" + rowkey.String(x.Qualifier)
		}
		a.Only = append(a.Only, name)
	}
	return a
}

// TestChoice checks that of random tables the selected cells are written, with the timestamps of versions, and counted.
func TestChoice(t *testing.T) {
	t.Parallel()
	r := testcheck.Rand(t)
	const rows = 60
	for range 40 {
		kept := 1 + r.IntN(3)
		table := testsnapshot.New(t, testsnapshot.Options{Families: []string{"f", "g"}, Versions: kept, Splits: []string{testsnapshot.RandomRow(20), testsnapshot.RandomRow(41)}[:r.IntN(3)]})
		cells := testsnapshot.Random(r, rows, "f", "g")
		table.Load(1, cells...)
		s := labSnapshot(t, table)
		c := testsnapshot.RandomChoice(r, rows, "f", "g")
		c.Ranges = c.Ranges[:min(len(c.Ranges), 1)]
		c.Versions = r.IntN(4)
		want := map[string]string{}
		for key, value := range testsnapshot.Chosen(cells, max(1, min(kept, c.Versions)), c) {
			if c.Versions == 0 {
				key = key[:strings.LastIndexByte(key, ' ')]
			}
			want[key] = value
		}
		fsys, m := exported(t, s, Options{Format: JSONL, Choice: askedFor(c), Workers: 2})
		got := map[string]string{}
		for _, f := range m.Files {
			for line := range bytes.Lines(jobtest.ReadWhole(t, fsys, path.Join("/out", f.Name))) {
				var row map[string]string
				testcheck.Must(t, json.Unmarshal(line, &row))
				for name, value := range row {
					if family, qualifier, ok := strings.Cut(name, ":"); ok {
						key := fmt.Sprintf("%s %s %s", row["$row"], family, qualifier)
						if at := row["$timestamp"]; at != "" {
							key += " " + at
						}
						got[key] = value
					}
				}
			}
		}
		if !maps.Equal(got, want) || m.Digest.Cells != int64(len(want)) || m.Choice.String() != askedFor(c).String() {
			t.Fatalf("%+v: %d cells, %+v, want %d", c, len(got), m.Summary(), len(want))
		}
	}
}

// TestChoiceByKeys checks that a range of original keys has a range for each salt, by the number of salts that the table is split for.
func TestChoiceByKeys(t *testing.T) {
	job := spec.Spec{Key: "salt(id) + id", Columns: []string{"id"}}
	j := jobtest.Resolve(t, job)
	var cells []hfile.Cell
	for i := range 100 {
		cells = append(cells, testsnapshot.Put(fmt.Sprintf("%d%02d", i%5, i), "f", "id", 5, fmt.Sprintf("%02d", i)))
	}
	s := labCells(t, cells, "1", "2", "3", "4")
	for _, x := range []struct {
		asked choice.Asked
		rows  int64
	}{{choice.Asked{FromKey: "17", ToKey: "42"}, 25}, {choice.Asked{KeyPrefix: "3"}, 10}, {choice.Asked{FromKey: "98"}, 2}, {choice.Asked{RowPrefix: "4"}, 20}} {
		_, m := exported(t, s, Options{Format: CSV, Job: &j, Choice: x.asked})
		if m.Digest.Rows != x.rows {
			t.Errorf("%s: %d rows, want %d", x.asked, m.Digest.Rows, x.rows)
		}
	}
	for text, o := range map[string]Options{
		"need the spec of the row keys: give it with `job`": {Format: JSONL, Choice: choice.Asked{FromKey: "1"}},
		"only one of these at a time":                       {Format: JSONL, Choice: choice.Asked{RowPrefix: "1", StopRow: "2"}},
		"`only` does not have its cell":                     {Format: CSV, Job: &j, Choice: choice.Asked{Only: []string{"g", "f:other"}}},
		"`since` is not before `until`":                     {Format: JSONL, Choice: choice.Asked{Since: "5", Until: "5"}},
	} {
		if _, err := Compile(o); fail.KindOf(err) != fail.Config || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: %v", o.Choice, err)
		}
	}
	p, err := Compile(Options{Format: JSONL, Choice: choice.Asked{Only: []string{"h"}}})
	testcheck.Must(t, err)
	if _, err := p.Run(t.Context(), s, hdfsio.NewMemory(), "/out"); fail.KindOf(err) != fail.Config || !strings.Contains(err.Error(), "has no family h") {
		t.Error(err)
	}
}
