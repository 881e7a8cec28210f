package source

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	"bulkload/pkg/source/dialect"
)

// TestNothing checks that text without content has no records and no bad records, with all dialects, compressed or not, with given columns and with
// those of IfEmpty.
func TestNothing(t *testing.T) {
	texts := map[string]string{"nothing": "", "a line feed": "\n", "blank lines": "\r\n\n", "a mark": "\ufeff", "a mark and a line feed": "\ufeff\n"}
	files := map[string]map[string][]byte{}
	for what, text := range texts {
		files[what] = map[string][]byte{"x.txt": []byte(text), "x.txt.gz": pack(t, "gz", []byte(text)), "x.zst": pack(t, "zst", []byte(text))}
	}
	for _, name := range append(dialect.Separated(), "") {
		var d *dialect.Dialect
		if name != "" {
			d = dialectOf(t, name, nil)
		}
		for _, header := range []dialect.Header{"", dialect.HeaderNo, dialect.HeaderFirst, dialect.HeaderMatch} {
			for what, text := range texts {
				if d != nil && d.RecordSep == "\x10" && text != "" {
					continue // in a dump this is a record
				}
				o := Options{IfEmpty: []string{"k", "v"}, Reject: func(e RowError) error { return &e }}
				if d != nil {
					o.Dialect = dialectOf(t, name, func(d *dialect.Dialect) { d.Header = cmp.Or(header, d.Header) })
				}
				for _, columns := range [][]string{nil, {"a", "b"}} {
					if o.Columns = columns; columns == nil && o.Dialect != nil && o.Dialect.Header == dialect.HeaderMatch {
						continue
					}
					for path, data := range files[what] {
						in, err := Open(t.Context(), func(string) (FS, string, error) { return &memFile{"/" + path, data}, "/" + path, nil }, []string{"/" + path}, withEmpty(o))
						if err != nil {
							t.Errorf("%s of %s, header %s, columns %v: %v", what, name, header, columns, err)
							continue
						}
						want := columns
						if want == nil {
							want = o.IfEmpty
						}
						if rows, err := readAll(t.Context(), in); err != nil || len(rows) > 0 || in.Records() > 0 || !slices.Equal(in.Columns(), want) {
							t.Errorf("%s of %s, header %s, columns %v: %d rows, columns %v, %v", what, name, header, columns, len(rows), in.Columns(), err)
						}
					}
				}
			}
		}
	}
}

// TestNoBytes checks that a file of 0 bytes is empty, whatever compression its name has.
func TestNoBytes(t *testing.T) {
	for _, ending := range []string{".gz", ".gzip", ".zst", ".zstd", ".bz2", ".bz", ".xz", ".lz4", ".sz", ".snappy", ".deflate", ".zlib"} {
		got, err := loadBytes(t, Options{IfEmpty: []string{"k"}}, "x.csv"+ending, nil)
		if err != nil || len(got) > 0 {
			t.Errorf("%s: %d records, %v", ending, len(got), err)
		}
	}
}

func withEmpty(o Options) Options {
	o.AllowEmpty = true
	return o
}

// TestNamesAreNeeded checks that Options.IfEmpty does not name the columns of an input with records.
func TestNamesAreNeeded(t *testing.T) {
	for _, name := range []string{"hive", "mysql", "postgres"} {
		o := Options{IfEmpty: []string{"k"}, Dialect: dialectOf(t, name, nil)}
		_, err := loadBytes(t, o, "x.txt", []byte("k1\nk2\n"))
		if err == nil || !strings.HasPrefix(err.Error(), "/x.txt: text without a header needs the names of its columns") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
