package keyrange_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"

	"bulkload/internal/model/fail"
	"bulkload/internal/model/keyrange"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/keygen"
)

// firstOf returns the first rows of a range, by a search through all rows.
func firstOf(rows [][]byte) func(keyrange.Range, int) ([][]byte, error) {
	return func(r keyrange.Range, n int) (first [][]byte, _ error) {
		for _, row := range rows {
			if r.Has(row) && len(first) < n {
				first = append(first, row)
			}
		}
		return first, nil
	}
}

// saltedRows returns random rows of a key, and a few others.
func saltedRows(t *testing.T, e keygen.Expr, modulus int) (rows [][]byte) {
	t.Helper()
	r := testcheck.Rand(t)
	program, err := keygen.Compile(e, keygen.Options{Regions: modulus})
	testcheck.Must(t, err)
	for range 400 {
		values := map[string]string{"id": fmt.Sprintf("k%06d", r.IntN(1e6)), "d": "2026-11-27"}
		var fields [][]byte
		for _, name := range program.Columns() {
			fields = append(fields, []byte(values[name]))
		}
		row, err := program.Append(nil, fields)
		testcheck.Must(t, err)
		rows = append(rows, row)
	}
	rows = append(rows, []byte("zz"), []byte("\xfe"))
	slices.SortFunc(rows, bytes.Compare)
	return rows
}

// TestSalts checks that a table with the requested salts is accepted, even with some other rows, and that a table with other salts is refused,
// whichever number is wrong: a table of one region, and one that is split for more salts than its keys have.
func TestSalts(t *testing.T) {
	t.Parallel()
	for key, again := range map[string]bool{"salt(id) + id": true, "'u' + salt(id) + '|' + id": true, "bytesalt(id) + id": true, "javasalt(id) + id": true,
		"salt(id) + md5hex(id) + id": true, "salt(id, d) + id": false} { // whether the key contains the columns of its salt
		e, err := keygen.Parse(key)
		testcheck.Must(t, err)
		for _, made := range []int{1, 2, 7, 10, 50, 100} {
			rows := saltedRows(t, e, made)
			for _, asked := range []int{1, 2, 7, 10, 50, 100} {
				salts, err := keyrange.Split(e).Salts(asked)
				testcheck.Must(t, err)
				err = salts.Check("table t", firstOf(rows))
				switch {
				case asked == made:
					testcheck.Must(t, err)
				case again && err == nil, err != nil && fail.KindOf(err) != fail.Check:
					t.Errorf("%s made with %d salts and asked for with %d: %v", key, made, asked, err)
				}
			}
		}
	}
}

// TestSaltsUnread checks the error for a table that cannot be read, and that a key without a salt has no salts.
func TestSaltsUnread(t *testing.T) {
	t.Parallel()
	e, err := keygen.Parse("salt(id, 4) + id")
	testcheck.Must(t, err)
	salts, err := keyrange.Split(e).Salts(1)
	testcheck.Must(t, err)
	broken := errors.New("no answer")
	if err := salts.Check("t", func(keyrange.Range, int) ([][]byte, error) { return nil, broken }); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	testcheck.Must(t, salts.Check("t", firstOf(nil))) // a table without rows
	e, err = keygen.Parse("id")
	testcheck.Must(t, err)
	if salts, err = keyrange.Split(e).Salts(1); salts != nil || err != nil {
		t.Errorf("salts of a key without: %v, %v", salts, err)
	}
}
