package dialects

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

// python returns the program that runs judge.py.
func python() string {
	if p := os.Getenv("BULKLOAD_DIALECTS_PYTHON"); p != "" {
		return p
	}
	return "python3"
}

// verdict is the output of a judge: the number of rows, the sums of their columns, and the sums after each thousandth
// row.
type verdict struct {
	Rows  int64      `json:"rows"`
	Sums  []uint64   `json:"sums"`
	Marks [][]uint64 `json:"marks"`
	Show  [][]*string
}

// ask reads a file with a judge. from and to limit the rows that it prints, as Latin-1 text.
func ask(t *testing.T, j judge, file string, from, to int64) (v verdict) {
	t.Helper()
	say, err := json.Marshal(struct {
		judge
		From int64 `json:"from"`
		To   int64 `json:"to"`
	}{j, from, to})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), python(), filepath.Join("testdata", "judge.py"), string(say), file)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("the judge %s does not read it: %v\n%s", j.How, err, errs.Bytes())
	}
	if err := json.Unmarshal(out.Bytes(), &v); err != nil {
		t.Fatalf("the judge %s: %v: %.200q", j.How, err, out.Bytes())
	}
	return v
}

// hold compares a judge's reading of a file with the table: the first row that differs is an error.
func (x *text) hold(t *testing.T, j judge, file string, want *digest) {
	t.Helper()
	v := ask(t, j, file, 0, 0)
	if v.Rows == want.rows && slices.Equal(v.Sums, want.sums) {
		return
	}
	have, n := newDigest(x.k.cols), int64(0)
	block := int64(0)
	for row := range x.rows() {
		d := rowOf(row)
		have.append(&d)
		if n++; n%mark == 0 {
			if i := n/mark - 1; i >= int64(len(v.Marks)) || !slices.Equal(v.Marks[i], have.sums) {
				break
			}
			block = n
		}
	}
	shown := ask(t, j, file, block, block+mark)
	n = 0
	for row := range x.rows() {
		if n++; n <= block {
			continue
		}
		if i := n - block - 1; i >= int64(len(shown.Show)) || !same(latin(shown.Show[i]), row) {
			got := "nothing"
			if i < int64(len(shown.Show)) {
				got = fmt.Sprintf("%q", latin(shown.Show[i]))
			}
			t.Errorf("the judge %s has %d rows, the table %d; row %d is %s, in the table %s", j.How, v.Rows, want.rows, n, got, show(row))
			return
		}
	}
	t.Errorf("the judge %s has %d rows, the table %d: the first that differs is not found", j.How, v.Rows, want.rows)
}

// latin returns a row of bytes with each byte as a character.
func latin(row []*string) [][]byte {
	out := make([][]byte, len(row))
	for c, s := range row {
		if s == nil {
			continue
		}
		out[c] = []byte{}
		for _, r := range *s {
			out[c] = append(out[c], byte(r))
		}
	}
	return out
}
