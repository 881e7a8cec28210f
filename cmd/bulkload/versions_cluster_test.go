package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/jobs/export"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/keygen/rowkey"
)

// versionsOf creates a table whose rows have up to four versions, with a job in a file: loaded ones, others by
// HBase's client, and deletions.
func (l *exportLab) versionsOf(t *testing.T, name string) (job string) {
	t.Helper()
	r := testcheck.Rand(t)
	l.newVersions(t, name)
	var text strings.Builder
	text.WriteString("id,a,n,at\n")
	for i := range 200 {
		for at := range 1 + r.IntN(4) {
			fmt.Fprintf(&text, "%03d,%s,%d,%d\n", i, []string{fmt.Sprint("v", r.IntN(100)), ""}[r.IntN(4)/3], r.IntN(1000), 1700000000000+int64(at)*86400000)
		}
	}
	dir := t.TempDir()
	input, job := filepath.Join(dir, "in.csv"), filepath.Join(dir, "job.yaml")
	testcheck.Must(t, os.WriteFile(input, []byte(text.String()), 0o600))
	testcheck.Must(t, os.WriteFile(job, []byte("table: x\nkey: id\ncolumns: [id, a, n, at]\ncells:\n  - column: id\n  - column: a\n  - column: n\n    type: int\n"+
		"skip: [at]\ncell_timestamp: {column: at, layout: unixms}\nduplicates: versions\nempty: skip\n"), 0o600))
	l.must(t, 0, "run", "--job", job, "--table", name, "--input", input, "--state", l.state)
	for _, row := range []string{"007", "101"} {
		l.java(t, "delete", name, row, "f:a")
		l.java(t, "put", name, row, "f:id", row, "1800000000000")
		l.java(t, "put", name, row, "f:a", "by the client", "1800000000000")
	}
	l.java(t, "delete", name, "055")
	return job
}

// newVersions creates a table that keeps five versions.
func (l *exportLab) newVersions(t *testing.T, name string) {
	t.Helper()
	l.java(t, "create", name, "--splits", "050,120", "--versions", "5")
	t.Cleanup(func() { dropTable(t, l.conf, strings.TrimPrefix(name, "test:")) })
}

// versions exports the versions of rows, compares them with those that HBase's client reads, and loads them into other tables: from files by the
// same job, and with the table as an input.
func (l *exportLab) versions(t *testing.T) {
	t.Helper()
	name := l.table + "_v"
	job := l.versionsOf(t, name)
	all := l.java(t, "versions", name)
	if n := strings.Count(all, "\n"); n < 1000 {
		t.Fatalf("%d cells", n)
	}
	copies := 0
	same := func(what string, args ...string) {
		t.Helper()
		copies++
		to := fmt.Sprint(name, copies)
		l.newVersions(t, to)
		l.must(t, 0, append([]string{"run", "--table", to, "--state", l.state}, args...)...)
		if got := l.java(t, "versions", to); got != all {
			t.Errorf("%s: other cells: %d bytes, HBase shows %d of the table", what, len(got), len(all))
		}
	}
	of := filepath.Join(t.TempDir(), "job.yaml")
	testcheck.Must(t, os.WriteFile(of, []byte("table: x\nkey: $row\ncolumns: [$row, $timestamp, id, a, n]\nskip: [$row, $timestamp]\ncells:\n  - columns: [id, a, n]\n"+
		"cell_timestamp: {column: $timestamp, layout: unixms}\nduplicates: versions\ninput_versions: 5\n"), 0o600))
	for _, by := range []string{"files", "scan"} {
		for _, n := range []string{"1", "2"} {
			want := strings.Split(strings.TrimSpace(l.java(t, "chosen", name, n, "0", "0", "-")), "\n")
			dir := filepath.Join(t.TempDir(), "rows")
			var m export.Manifest
			testcheck.Must(t, json.Unmarshal([]byte(l.must(t, 0, "export", name, "--to", dir, "--format", "jsonl", "--versions", n, "--read-by", by, "--output", "json")), &m))
			var got []string
			eachExported(t, dir, func(row map[string]any, column, value string) {
				got = append(got, fmt.Sprintf("%s\t%s\t%s\t%s", row["$row"], column, row["$timestamp"], rowkey.String([]byte(value))))
			})
			slices.Sort(want)
			if slices.Sort(got); !slices.Equal(got, want) || m.Digest.Cells != int64(len(want)) || m.Choice.Versions != int(n[0]-'0') {
				t.Errorf("%s versions by %s: %d cells, HBase shows %d; %+v", n, by, len(got), len(want), m.Summary())
			}
		}
		same("an input by "+by, "--job", of, "--input", "hbase:"+name, "--read-by", by)
	}
	dir := filepath.Join(t.TempDir(), "csv")
	l.must(t, 0, "export", name, "--to", dir, "--format", "csv", "--versions", "5", "--job", job)
	same("an export", "--job", job, "--input", dir)
}
