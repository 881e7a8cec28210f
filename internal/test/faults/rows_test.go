package faults

import (
	"bytes"
	"cmp"
	"crypto/md5"
	"crypto/sha256"
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"

	"bulkload/internal/test/bench/data"
)

// TestDigest compares the computation with digests of exports that other programs made: the judge must not share an
// error with the program.
func TestDigest(t *testing.T) {
	for _, c := range []struct {
		table data.Table
		salts int
	}{{data.Check, 10}, {data.Opinion, 50}} {
		exports := "../../../testdata/exports"
		f, err := os.Open(filepath.Join(exports, string(c.table)+".csv"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		records, err := csv.NewReader(f).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		want, err := os.ReadFile(filepath.Join(exports, string(c.table)+".digest"))
		if err != nil {
			t.Fatal(err)
		}
		for _, empty := range []string{"skip", "store"} {
			var rows []row
			for _, fields := range records[1:] {
				rows = append(rows, record(c.table, records[0], fields, c.salts, empty == "store"))
			}
			sortRows(rows)
			line := digest(rows, family)
			found := false
			for l := range strings.Lines(string(want)) {
				found = found || strings.HasPrefix(l, empty) && strings.HasSuffix(strings.TrimSpace(l), line)
			}
			if !found {
				t.Errorf("%s %s: %s is not a line of\n%s", c.table, empty, line, want)
			}
		}
	}
}

// cell is one column of a row.
type cell struct{ qualifier, value string }

// row is the expected row of one record.
type row struct {
	key   string
	cells []cell // by qualifier
}

// family is the column family of every job that names no other.
const family = "f"

// salt returns the first part of a key as Java computes it: |hashCode % n| with leading zeros. It is implemented
// again here because the program's own code must not be its judge.
func salt(text string, n int) string {
	var h int32
	for _, unit := range utf16.Encode([]rune(text)) {
		h = 31*h + int32(unit)
	}
	m := h % int32(n)
	return fmt.Sprintf("%0*d", len(strconv.Itoa(n-1)), max(m, -m))
}

// splits returns the boundaries of a table with one region for each of n salts, none for one salt.
func splits(n int) []string {
	var all []string
	for i := 1; i < n; i++ {
		all = append(all, fmt.Sprintf("%0*d", len(strconv.Itoa(n-1)), i))
	}
	return all
}

// queryColumns returns the columns that determine the salt and the digest of a key.
func queryColumns(t data.Table) []string {
	if t == data.Opinion {
		return []string{"buss_no", "business_type"}
	}
	return []string{"check_id"}
}

// record returns the row of one record. Empty fields become cells only with store.
func record(t data.Table, columns, fields []string, salts int, store bool) row {
	var query, id string
	for _, name := range queryColumns(t) {
		query += fields[slices.Index(columns, name)]
	}
	id = fields[slices.Index(columns, "id")]
	r := row{key: fmt.Sprintf("%s%x%s", salt(query, salts), md5.Sum([]byte(query)), id)}
	for i, name := range columns {
		if fields[i] != "" || store {
			r.cells = append(r.cells, cell{name, fields[i]})
		}
	}
	slices.SortFunc(r.cells, func(a, b cell) int { return cmp.Compare(a.qualifier, b.qualifier) })
	return r
}

func sortRows(rows []row) {
	slices.SortFunc(rows, func(a, b row) int { return cmp.Compare(a.key, b.key) })
}

func countCells(rows []row) (n int64) {
	for _, r := range rows {
		n += int64(len(r.cells))
	}
	return n
}

// digest returns the line that the command "digest" of the Java client prints for a table with these rows.
func digest(rows []row, family string) string {
	sha := sha256.New()
	var b bytes.Buffer
	for _, r := range rows {
		b.Reset()
		for _, c := range r.cells {
			b.WriteString(r.key)
			b.WriteByte(0)
			b.WriteString(family)
			b.WriteByte(0)
			b.WriteString(c.qualifier)
			b.WriteByte(0)
			b.WriteString(c.value)
			b.WriteByte(1)
		}
		sha.Write(b.Bytes())
	}
	return fmt.Sprintf("rows=%d cells=%d sha256=%x", len(rows), countCells(rows), sha.Sum(nil))
}
