package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/internal/jobs/export"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/keygen/rowkey"
)

// java returns the output of HBase's own client.
func (l *exportLab) java(t *testing.T, args ...string) string {
	t.Helper()
	out, err := l.admin.Run(t.Context(), args...)
	testcheck.Must(t, err)
	return out
}

// chosen exports parts of the table, by its files and by scans, and compares them with a Scan of HBase's own client with the same bounds. A
// job that reads the table as its input has the same rows.
func (l *exportLab) chosen(t *testing.T) {
	t.Helper()
	all := cellsOf(t, l.java(t, "scan", l.table))
	var some, id, check string // a row, and its original key
	for at := range all {
		row, column, _ := strings.Cut(at, "\t")
		if column == "f:id" && (some == "" || row < some) && row > "3" {
			some, id, check = row, all[at], all[row+"\tf:check_id"]
		}
	}
	l.java(t, "put", l.table, some, "f:remarks", "newer", "1700000000005")
	l.java(t, "put", l.table, "35", "f:remarks", "of a row of its own", "1700000000003")
	l.java(t, "put", l.table, "35", "f:id", "35", "1700000000009")
	for _, c := range []struct {
		flags []string
		java  []string // versions, times, columns, ranges
	}{
		{[]string{"--start-row=2", "--stop-row=5", "--only=f:remarks,f:id"}, []string{"1", "0", "0", "f:remarks,f:id", "2", "5"}},
		{[]string{"--row-prefix=3", "--until=1700000000005"}, []string{"1", "0", "1700000000005", "-", "3", "4"}},
		{[]string{"--since=1700000000001"}, []string{"1", "1700000000001", "0", "-"}},
		{[]string{"--key-prefix=" + check + "," + id, "--job=" + l.jobFile(t), "--key-prefix=" + check + "," + id}, []string{"1", "0", "0", "-", some, some + "\\x00"}},
	} {
		want := cellsOf(t, l.java(t, append([]string{"chosen", l.table}, c.java...)...))
		for _, by := range []string{"files", "scan"} {
			format := "jsonl"
			dir := filepath.Join(t.TempDir(), by)
			var m export.Manifest
			testcheck.Must(t, json.Unmarshal([]byte(l.must(t, 0, append([]string{"export", l.table, "--to", dir, "--format", format, "--read-by", by, "--output", "json"}, c.flags...)...)), &m))
			got := exportedCells(t, dir)
			if len(c.flags) > 2 && strings.HasPrefix(c.flags[1], "--job") { // columns of the job, without their family
				if m.Digest.Rows != 1 || m.Digest.Cells != int64(len(want)) || m.Choice.KeyPrefix == "" {
					t.Errorf("%q by %s: %+v, HBase shows %d cells", c.flags, by, m, len(want))
				}
				continue
			}
			if len(want) == 0 || !maps.Equal(got, want) || m.Digest.Cells != int64(len(want)) {
				t.Errorf("%q by %s: %d cells, HBase shows %d", c.flags, by, len(got), len(want))
			}
		}
	}
	rows := map[string]bool{}
	for at := range cellsOf(t, l.java(t, "chosen", l.table, "1", "0", "1700000000005", "f:id,f:check_id", "2", "5")) {
		row, _, _ := strings.Cut(at, "\t")
		rows[row] = true
	}
	for _, by := range []string{"files", "scan"} {
		var r struct {
			Records int64 `json:"records"`
		}
		out := filepath.Join(t.TempDir(), "hfiles")
		testcheck.Must(t, json.Unmarshal([]byte(l.must(t, 0, "build", "--table", l.table, "--key", "id + check_id", "--columns", "id,check_id", "--input", "hbase:"+l.table, "--read-by", by, "--start-row", "2", "--stop-row", "5", "--until", "1700000000005",
			"--only", "f:id,f:check_id", "--splits", "5", "--out", out, "--output", "json")), &r))
		if r.Records != int64(len(rows)) || len(rows) < 100 {
			t.Errorf("an input by %s: %d records, HBase shows %d rows", by, r.Records, len(rows))
		}
	}
}

// otherSalts checks that ranges of original keys with a wrong number of salts are refused, since they would miss most rows, and so is a missing
// table. No snapshot is left behind.
func (l *exportLab) otherSalts(t *testing.T) {
	t.Helper()
	file := l.jobFile(t)
	text := jobtest.ReadWhole(t, hdfsio.Local{}, file)
	testcheck.Must(t, os.WriteFile(file, append(text, "\nsalt_buckets: 3\n"...), 0o600))
	for _, by := range []string{"files", "scan"} {
		l.must(t, 3, "export", l.table, "--read-by", by, "--to", filepath.Join(t.TempDir(), by), "--format", "jsonl", "--job", file, "--key-prefix", "A208848994,5")
		l.must(t, 3, "compare", l.table, l.table, "--read-by", by, "--job", file, "--key-prefix", "A208848994,5")
		l.must(t, 5, "compare", l.table, l.table+"_none", "--read-by", by)
	}
	l.nothingLeft(t)
}

// exportedCells returns the cells of JSON lines, by row and column.
func exportedCells(t *testing.T, dir string) map[string]string {
	t.Helper()
	got := map[string]string{}
	eachExported(t, dir, func(row map[string]any, column, value string) { got[row["$row"].(string)+"\t"+column] = value })
	return got
}

// eachExported calls a function for each cell of the JSON lines in a directory.
func eachExported(t *testing.T, dir string, do func(row map[string]any, column, value string)) {
	t.Helper()
	for name := range jobtest.Hashes(t, dir) {
		if !strings.HasPrefix(filepath.Base(name), "part-") {
			continue
		}
		for line := range bytes.Lines(jobtest.ReadWhole(t, hdfsio.Local{}, filepath.Join(dir, name))) {
			var row map[string]any
			testcheck.Must(t, json.Unmarshal(line, &row))
			for column, value := range row {
				text, ok := value.(string)
				if packed, not := value.(map[string]any); not { // not UTF-8
					b, err := base64.StdEncoding.DecodeString(packed["base64"].(string))
					testcheck.Must(t, err)
					text, ok = string(b), true
				}
				if ok && strings.Contains(column, ":") {
					do(row, column, text)
				}
			}
		}
	}
}

// cellsOf returns the newest cell of each row and column from lines of cells.
func cellsOf(t *testing.T, lines string) map[string]string {
	t.Helper()
	cells := map[string]string{}
	for line := range strings.Lines(lines) {
		f := strings.SplitN(strings.TrimSuffix(line, "\n"), "\t", 4)
		if len(f) != 4 {
			t.Fatalf("%q", line)
		}
		value, err := rowkey.Parse(f[3])
		testcheck.Must(t, err)
		if at := f[0] + "\t" + f[1]; cells[at] == "" {
			cells[at] = string(value)
		}
	}
	return cells
}
