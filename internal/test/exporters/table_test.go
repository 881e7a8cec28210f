package exporters

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
)

// A table has rows of texts; nil is NULL. Its first column is the number of the row.
type table struct {
	columns []string
	rows    [][]any
	numbers string // numbers of the rows, separated by commas, if no column has them
}

const samples = root + "/testdata/source/dialects/"

// samplesTable reads a file of rows of testdata/source/dialects.
func samplesTable(t *testing.T, name string, columns ...string) table {
	t.Helper()
	f, err := os.Open(samples + name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	if len(columns) == 0 {
		columns = []string{"id", "check_id", "name", "amount", "n", "d", "ts", "flag", "remark"}
	}
	tab := table{columns: columns}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var row map[string]any
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		values := make([]any, len(columns))
		for i, c := range columns {
			values[i] = row[c]
		}
		tab.rows = append(tab.rows, values)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return tab
}

// expectedOf returns the rows that the manifest expects of a sample.
func expectedOf(t *testing.T, sample string, columns ...string) table {
	t.Helper()
	data, err := os.ReadFile(samples + "manifest.json")
	if err != nil {
		t.Fatal(err)
	}
	var m struct {
		Samples []struct{ Path, Expected string }
	}
	if err := json.Unmarshal(data, &m); err != nil {
		t.Fatal(err)
	}
	for _, s := range m.Samples {
		if s.Path == sample {
			return samplesTable(t, s.Expected, columns...)
		}
	}
	t.Fatalf("the manifest has no %s", sample)
	return table{}
}

// pieces are the parts of random values: separators, quotes, escapes and record ends of any exporter, words that mean NULL,
// characters whose GBK bytes include these, and blanks.
var pieces = strings.Split("a bc 7 , ; | \" ' \\ \\\\ \\N \\n \\t N n t 0 NULL null \\. \"\" \", ,\" \"\n\" ' @ @|@ # #@ #@# || !N ! $ ^ { } = % %41 <> -- // 华东 誠 皘 癅癪 皛 x誠 é ü ß", " ")

// wild are the pieces that some exporters or character sets do not have.
var wild = []string{"😀", "𠮷", "\ufeff", "\u2028", "\u0085", "\u00a0", "\u3000"}

// bare are blanks, control characters and line ends.
var bare = []string{" ", "  ", "\t", "\n", "\r", "\r\n", "\n\n", "\x01", "\x02", "\x03", "\x08", "\x0b", "\x0c", "\x10", "\x1a", "\x1b", "\x1e", "\x1f", "\x7f"}

// randomTable returns rows of awkward values in three columns; the same seed gives the same table.
func randomTable(seed uint64, rows int, pieces ...string) table {
	r := rand.New(rand.NewPCG(seed, 15))
	tab := table{columns: []string{"id", "a", "b", "c"}}
	for i := range rows {
		row := []any{fmt.Sprint(i + 1)}
		for range 3 {
			if r.IntN(12) == 0 {
				row = append(row, nil)
				continue
			}
			var b strings.Builder
			for range []int{0, 1, 1, 1, 2, 2, 3, 5, 9, 30}[r.IntN(10)] {
				b.WriteString(pieces[r.IntN(len(pieces))])
			}
			row = append(row, b.String())
		}
		tab.rows = append(tab.rows, row)
	}
	return tab
}

// without returns the table without rows that have a value for which leave returns true.
func (tab table) without(leave func(string) bool) table {
	if leave == nil {
		return tab
	}
	out := table{columns: tab.columns}
	for _, row := range tab.rows {
		if !slices.ContainsFunc(row, func(v any) bool { s, ok := v.(string); return ok && leave(s) }) {
			out.rows = append(out.rows, row)
		}
	}
	return out
}

// as returns the table with each value changed, including NULL.
func (tab table) as(change func(any) any) table {
	if change == nil {
		return tab
	}
	out := table{columns: tab.columns}
	for _, row := range tab.rows {
		changed := make([]any, len(row))
		for i, v := range row {
			changed[i] = change(v)
		}
		out.rows = append(out.rows, changed)
	}
	return out
}

// ids returns the numbers of the rows as a comma-separated list of SQL.
func (tab table) ids() string {
	if tab.numbers != "" {
		return tab.numbers
	}
	ids := make([]string, len(tab.rows))
	for i, row := range tab.rows {
		ids[i] = row[0].(string)
	}
	return strings.Join(ids, ",")
}

// sorted returns the table in the order of the numbers of its rows.
func (tab table) sorted() table {
	rows := slices.Clone(tab.rows)
	key := func(row []any) string { s, _ := row[0].(string); return fmt.Sprintf("%10s", s) }
	slices.SortStableFunc(rows, func(a, b []any) int { return strings.Compare(key(a), key(b)) })
	return table{tab.columns, rows, tab.numbers}
}

// differs describes the first difference from the expected table, or returns "".
func (tab table) differs(want table) string {
	if fmt.Sprint(tab.columns) != fmt.Sprint(want.columns) {
		return fmt.Sprintf("columns %q, want %q", tab.columns, want.columns)
	}
	if len(tab.rows) != len(want.rows) {
		return fmt.Sprintf("%d rows, want %d", len(tab.rows), len(want.rows))
	}
	bad, first := 0, ""
	for i := range want.rows {
		if got, want := fmt.Sprintf("%q", tab.rows[i]), fmt.Sprintf("%q", want.rows[i]); got != want {
			if bad++; bad <= 3 {
				first += fmt.Sprintf("\nrow %d: %s\nwant %s", i+1, got, want)
			}
		}
	}
	if bad == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d rows%s", bad, len(want.rows), first)
}

// only returns the table with some of its columns, without the rows whose record would begin with U+FEFF, which is a bad record except at
// the beginning of a file.
func (tab table) only(columns ...string) table {
	first := slices.Index(tab.columns, columns[0])
	whole := table{columns: tab.columns}
	for _, row := range tab.rows {
		if s, ok := row[first].(string); !ok || !strings.HasPrefix(s, "\ufeff") {
			whole.rows = append(whole.rows, row)
		}
	}
	out := table{columns: columns, numbers: whole.ids()}
	for _, row := range whole.rows {
		some := make([]any, len(columns))
		for i, c := range columns {
			some[i] = row[slices.Index(tab.columns, c)]
		}
		out.rows = append(out.rows, some)
	}
	return out
}

// ending returns the table with a text after its last value, which is not NULL.
func (tab table) ending(text string) table {
	if text == "" {
		return tab
	}
	rows := slices.Clone(tab.rows)
	last := slices.Clone(rows[len(rows)-1])
	last[len(last)-1] = last[len(last)-1].(string) + text
	rows[len(rows)-1] = last
	return table{tab.columns, rows, tab.numbers}
}

// size returns the approximate number of bytes of the values.
func (tab table) size() (n int) {
	for _, row := range tab.rows {
		for _, v := range row {
			s, _ := v.(string)
			n += len(s) + 1
		}
	}
	return n
}
