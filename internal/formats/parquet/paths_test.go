package parquet

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"bulkload/internal/test/testcheck"
)

// TestPathsOfParquet checks which names lead to values, and which columns a file has for the names that a job wants.
func TestPathsOfParquet(t *testing.T) {
	data, err := os.ReadFile(parquetOthers + "nested-arrow-v1.parquet")
	testcheck.Must(t, err)
	m, err := Open(bytes.NewReader(data), int64(len(data)), limited(64<<20))
	testcheck.Must(t, err)
	all := strings.Fields("id addr ints words deep points m days kinds a.b a")
	for path, want := range map[string]bool{"id": true, "addr": false, "addr.city": true, "addr.zip.code": true, "addr.geo": false, "addr.tags": false, "addr.no": false, "a.b": true, "ints": false, "ints.list": false, "no": false, "": false} {
		if m.Leads(path) != want {
			t.Errorf("%q leads to a value: %v", path, !want)
		}
	}
	for path, want := range map[string]string{"id.x": "id", "addr.city.x": "addr.city", "addr.tags.0": "addr.tags", "ints.list": "ints", "m.k.v": "m", "a.b.c": "a.b", "addr.no": "", "addr.city": "", "a.b": "", "no.x": "", "id": ""} {
		if got := m.Whole(path); got != want {
			t.Errorf("%q leads into %q, want %q", path, got, want)
		}
	}
	without := slices.DeleteFunc(slices.Clone(all), func(c string) bool { return c == "addr" })
	for wanted, want := range map[string][]string{
		"": all, "id": all, "addr.city": append(slices.Clone(without), "addr.city"), "addr.city addr.zip.code addr.city": append(slices.Clone(without), "addr.city", "addr.zip.code"),
		"addr addr.city": append(slices.Clone(all), "addr.city"), "a.b": all, "addr.no": all, "no": all,
	} {
		if got := m.Columns(strings.Fields(wanted)); !slices.Equal(got, want) {
			t.Errorf("of %q: %q, want %q", wanted, got, want)
		}
	}
	for i, name := range m.Names() {
		if err := m.Text(i); err != nil || name != all[i] {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestFootersThatAreRefused checks the errors of files that are cut, encrypted, or lack a column.
func TestFootersThatAreRefused(t *testing.T) {
	read := func(name string) []byte {
		data, err := os.ReadFile(parquetDir + "/" + name)
		testcheck.Must(t, err)
		return data
	}
	whole := read("arrow-checksum.parquet")
	changed := func(at int, b byte) []byte {
		data := bytes.Clone(whole)
		data[(at+len(data))%len(data)] = b
		return data
	}
	const damaged = "it is not a Parquet file, or it is truncated or damaged: "
	for _, tt := range []struct {
		data   []byte
		column string
		want   string
	}{
		{whole, "id", ""}, {nil, "id", damaged + "it has 0 bytes"}, {whole[:11], "id", damaged + "it has 11 bytes"}, {whole[:len(whole)/2], "id", damaged + "it does not end with PAR1"},
		{changed(-5, 0x7f), "id", "is longer than the file"}, {changed(-6, 0xff), "id", "is longer than the file"}, {changed(200, whole[200]^1), "id", "row group 0, column id: page at byte 4: its checksum is wrong"},
		{read("others/encrypted-footer.parquet"), "id", "its footer is encrypted"}, {read("others/encrypted-column.parquet"), "secret", "row group 0, column secret: it is encrypted"},
		{read("others/encrypted-column.parquet"), "open", ""}, {whole, "none.of", `column "none.of" is not in its schema`},
	} {
		if _, err := rowsOf(tt.data, time.UTC, tt.column); (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%d bytes: %v, want %s", len(tt.data), err, tt.want)
		}
	}
}
