package secured

import (
	"cmp"
	"crypto/md5"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"bulkload/internal/test/bench/data"
)

// export is an input with the expected contents of a table after its load.
type export struct {
	kind   data.Table
	input  string
	salts  int
	rows   int64
	digest string // in the format of the Java client
	key    []string
	found  int // number of rows with the values of key in the query's columns
}

func (e export) job() string { return filepath.Join("examples", string(e.kind)+".yaml") }

// small returns the exports of the checkout: 3,000 rows, check as CSV and opinion as Parquet.
func small(t testing.TB) []export {
	t.Helper()
	var all []export
	for _, e := range []export{
		{kind: data.Check, input: "testdata/exports/check.csv", salts: 10, rows: 3000, key: []string{"2527AEHL6KKHZWSQR8RNVKDB96XH"}},
		{kind: data.Opinion, input: "testdata/exports/opinion.parquet", salts: 50, rows: 3000},
	} {
		b, err := os.ReadFile(filepath.Join(root, "testdata/exports", string(e.kind)+".digest"))
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(b)) {
			if rest, ok := strings.CutPrefix(line, fmt.Sprintf("skip %d ", e.salts)); ok {
				e.digest = strings.TrimSpace(rest)
			}
		}
		if e.digest == "" {
			t.Fatalf("no digest of %s for %d salts", e.kind, e.salts)
		}
		e.input, err = filepath.Abs(filepath.Join(root, e.input))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
	f, err := os.Open(all[0].input)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	records, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		all[0].found += btoi(r[1] == all[0].key[0])
	}
	return all
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// made returns a generated export of rows; its file is kept in the checkout's build directory.
func made(t testing.TB, kind data.Table, form data.Form, salts int, rows int64) export {
	t.Helper()
	spec := data.Spec{Table: kind, Rows: rows, Seed: 16, Regions: salts}
	name, err := data.WriteFile(t.Context(), filepath.Join(root, "build", "secured", "exports"), spec, form)
	if err != nil {
		t.Fatal(err)
	}
	if name, err = filepath.Abs(name); err != nil {
		t.Fatal(err)
	}
	e := export{kind: kind, input: name, salts: salts, rows: rows}
	e.digest, e.key, e.found = plan(t, spec)
	return e
}

// row is the expected row of one record.
type row struct {
	key   string
	cells []byte // in the form for the digest
	n     int
}

// plan computes the expected table for the rows of a spec, with row keys as Java computes them and without the program's
// code: the digest, and a query key with the number of its rows.
func plan(t testing.TB, spec data.Spec) (digest string, key []string, found int) {
	t.Helper()
	g, err := data.NewGenerator(spec)
	if err != nil {
		t.Fatal(err)
	}
	columns := g.Columns()
	query := []string{"check_id"}
	if spec.Table == data.Opinion {
		query = []string{"buss_no", "business_type"}
	}
	order := make([]int, len(columns)) // of the columns by name
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(columns[a], columns[b]) })
	var rows []row
	for {
		fields, ok := g.Next()
		if !ok {
			break
		}
		var joined string
		var values []string
		for _, name := range query {
			values = append(values, string(fields[slices.Index(columns, name)]))
			joined += values[len(values)-1]
		}
		if key == nil {
			key = values
		}
		if slices.Equal(key, values) {
			found++
		}
		r := row{key: fmt.Sprintf("%s%x%s", salt(joined, spec.Regions), md5.Sum([]byte(joined)), fields[slices.Index(columns, "id")])}
		for _, i := range order {
			if len(fields[i]) > 0 {
				r.n++
				r.cells = fmt.Appendf(r.cells, "%s\x00f\x00%s\x00%s\x01", r.key, columns[i], fields[i])
			}
		}
		rows = append(rows, r)
	}
	slices.SortFunc(rows, func(a, b row) int { return cmp.Compare(a.key, b.key) })
	sha, cells := sha256.New(), 0
	for _, r := range rows {
		sha.Write(r.cells)
		cells += r.n
	}
	return fmt.Sprintf("rows=%d cells=%d sha256=%s", len(rows), cells, hex.EncodeToString(sha.Sum(nil))), key, found
}

// salt returns Java's |hashCode % n| with leading zeros.
func salt(text string, n int) string {
	var h int32
	for _, unit := range utf16.Encode([]rune(text)) {
		h = 31*h + int32(unit)
	}
	m := h % int32(n)
	return fmt.Sprintf("%0*d", len(fmt.Sprint(n-1)), max(m, -m))
}
