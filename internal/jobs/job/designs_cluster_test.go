package job

import (
	"cmp"
	"encoding/csv"
	"os"
	"slices"
	"testing"

	"bulkload/internal/serve/query"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcluster"
	"bulkload/pkg/loader"
	"bulkload/pkg/partition"
)

// exported is a record of the check export by column.
type exported map[string]string

// TestDesigns loads the check export into tables of different designs, reads them back by query keys and by ranges, and compares every row with the
// export.
func TestDesigns(t *testing.T) {
	t.Parallel()
	env := jobtest.ClusterEnv(t, testcluster.Shared(t))
	input := jobtest.Export(t, "check.csv")
	records := readExport(t, input)
	of := func(id string) func(exported) bool { return func(r exported) bool { return r["check_id"] == id } }
	between := func(from, to string) func(exported) bool {
		return func(r exported) bool { return r["create_date"] >= from && r["create_date"] < to }
	}
	by := func(columns ...string) func(a, b exported) int {
		return func(a, b exported) int {
			for _, c := range columns {
				if n := cmp.Compare(a[c], b[c]); n != 0 {
					return n
				}
			}
			return 0
		}
	}
	latest := func(a, b exported) int {
		return cmp.Or(cmp.Compare(b["create_date"], a["create_date"]), cmp.Compare(a["id"], b["id"]))
	}
	first, last := records[0]["check_id"], records[len(records)-1]["check_id"]
	for _, c := range []struct {
		name, key, splits string
		query             []query.Query
		keep              []func(exported) bool
		order             func(a, b exported) int
	}{
		{"latest first", "md5hex(check_id) + revtime(millis(create_date, 'yyyy-MM-dd HH:mm:ss')) + id", "hex:8",
			[]query.Query{{Values: []string{first}}, {Values: []string{last}}}, []func(exported) bool{of(first), of(last)}, latest},
		{"salted time", "salt(id, 5) + create_date + id", "salt:5",
			[]query.Query{{From: []string{"2016"}, To: []string{"2016-07"}}, {Prefix: []string{"2015-08-17"}}, {}},
			[]func(exported) bool{between("2016", "2016-07"), between("2015-08-17", "2015-08-18"), between("", "9")}, by("create_date", "id")},
		{"shifted md5", "md5shift(check_id) + '::' + id", "md5:4",
			[]query.Query{{Values: []string{first}}, {Values: []string{"none"}}}, []func(exported) bool{of(first), of("none")}, by("id")},
		{"plain with a separator", "check_id + '|' + id", "3,8,A,M",
			[]query.Query{{From: []string{first}, To: []string{first + "~"}}, {Values: []string{last}}}, []func(exported) bool{of(first), of(last)}, by("id")},
	} {
		t.Run(c.name, func(t *testing.T) {
			points, err := partition.ParsePlan(c.splits)
			if err != nil {
				t.Fatal(err)
			}
			s := jobtest.Spec(t, "check")
			s.Table, s.Key, s.Inputs, s.Verify, s.Empty = jobtest.FreshTableAt(t, env, points, nil), c.key, []string{input}, "full", "skip"
			if _, err := Run(t.Context(), env, jobtest.Resolve(t, s), RunOptions{}); err != nil {
				t.Fatal(err)
			}
			for i, q := range c.query {
				var want []exported
				for _, r := range records {
					if c.keep[i](r) {
						want = append(want, r)
					}
				}
				slices.SortFunc(want, c.order)
				n := 0
				_, err := query.Read(t.Context(), env, jobtest.Resolve(t, s), q, func(r loader.Row) error {
					if n < len(want) {
						sameRecord(t, r, want[n])
					}
					n++
					return nil
				})
				if err != nil || n != len(want) {
					t.Errorf("%s: %d rows, want %d, %v", q, n, len(want), err)
				}
			}
		})
	}
}

// sameRecord compares a row's cells with a record, whose empty values have no cells.
func sameRecord(t *testing.T, row loader.Row, want exported) {
	t.Helper()
	cells := 0
	for _, v := range want {
		if v != "" {
			cells++
		}
	}
	if len(row.Cells) != cells {
		t.Errorf("row %q has %d cells, want %d", row.Key, len(row.Cells), cells)
	}
	for _, c := range row.Cells {
		if want[string(c.Qualifier)] != string(c.Value) {
			t.Errorf("row %q: %s is %q, want %q", row.Key, c.Qualifier, c.Value, want[string(c.Qualifier)])
			return
		}
	}
}

func readExport(t *testing.T, name string) []exported {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var all []exported
	for _, l := range lines[1:] {
		r := exported{}
		for i, c := range lines[0] {
			r[c] = l[i]
		}
		all = append(all, r)
	}
	return all
}
