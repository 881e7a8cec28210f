package orc

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"bulkload/internal/formats/parquet"
	"bulkload/internal/test/testcheck"
)

// TestPathsOfORC checks which names lead to values, which columns a file has for the names that a job wants, and that the checksum of a plan knows its
// columns and stripes.
func TestPathsOfORC(t *testing.T) {
	data, err := os.ReadFile(orcDir + "hive-shanghai-snappy.orc")
	testcheck.Must(t, err)
	open := func() *File {
		m, err := Open(bytes.NewReader(data), int64(len(data)), limited(64<<20))
		testcheck.Must(t, err)
		return m
	}
	m := open()
	all := slices.Clone(m.Names())
	without := slices.DeleteFunc(slices.Clone(all), func(c string) bool { return c == "addr" })
	for path, want := range map[string]bool{"id": true, "addr": false, "addr.zip": true, "addr.tags": false, "addr.no": false, "no": false, "": false} {
		if m.Leads(path) != want {
			t.Errorf("%q leads to a value: %v", path, !want)
		}
	}
	for path, want := range map[string]string{"id.x": "id", "addr.zip.x": "addr.zip", "addr.tags.0": "addr.tags", "addr.no": "", "addr.zip": "", "no.x": "", "id": ""} {
		if got := m.Whole(path); got != want {
			t.Errorf("%q leads into %q, want %q", path, got, want)
		}
	}
	for wanted, want := range map[string][]string{"": all, "id": all, "addr.zip": append(slices.Clone(without), "addr.zip"), "addr.tags addr.zip addr.tags": append(slices.Clone(without), "addr.tags", "addr.zip"),
		"addr addr.zip": append(slices.Clone(all), "addr.zip"), "addr.no": all, "no": all} {
		if got := m.Columns(strings.Fields(wanted)); !slices.Equal(got, want) {
			t.Errorf("of %q: %q, want %q", wanted, got, want)
		}
	}
	for i, name := range all {
		if err := m.Text(i); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	sums := map[uint32]string{}
	for _, columns := range []string{"id", "addr", "addr.zip", "ts", "id ts", "ts id"} {
		var plan []parquet.Column
		for _, c := range strings.Fields(columns) {
			plan = append(plan, parquet.Column{Name: c})
		}
		m, again := open(), open()
		testcheck.Must(t, m.Plan(plan, time.UTC))
		testcheck.Must(t, again.Plan(plan, time.UTC))
		if other, twice := sums[m.Sum()]; twice || m.Sum() != again.Sum() || m.Memory() <= 0 {
			t.Errorf("%s: the checksum %x is that of %q, or another at each opening", columns, m.Sum(), other)
		}
		sums[m.Sum()] = columns
	}
	tail := data[len(data)-4:]
	if !Ends(nil, tail) || !Ends([]byte("ORC\x00"), []byte("\n1,2")) || Ends([]byte("ORC,a\n1,2\n"), []byte("1,2\n")) || Ends([]byte("ORC,a"), tail[1:]) || Ends([]byte("ORC"), []byte("ORC\x07")) {
		t.Errorf("text is taken for ORC, or ORC for text, by %q", tail)
	}
}
