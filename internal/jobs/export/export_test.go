package export

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"bulkload/internal/formats/celltype"
	"bulkload/internal/hbase/snapshot"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/exportdir"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/race"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/hfile"
	"bulkload/pkg/source"
	"bulkload/pkg/source/span"
)

// typed returns the bytes of a text in a type.
func typed(t testing.TB, typ celltype.Type, text string) string {
	t.Helper()
	convert, err := typ.Converter()
	testcheck.Must(t, err)
	b, err := convert(nil, []byte(text))
	testcheck.Must(t, err)
	return string(b)
}

// typedJob returns a spec with a column of each type, in two families.
func typedJob() spec.Spec {
	zone := "Asia/Shanghai"
	return spec.Spec{Columns: []string{"id", "s", "i", "l", "f", "d", "b", "dec", "day", "at", "note"}, Mapping: spec.Mapping{Cells: []spec.CellSpec{
		{Column: "s", Type: "short"}, {Column: "i", Type: "int", Encoding: "phoenix"}, {Column: "l", Type: "long", Family: "g", Qualifier: "x"}, {Column: "f", Type: "float"},
		{Column: "d", Type: "double"}, {Column: "b", Type: "boolean"}, {Column: "dec", Type: "decimal"}, {Column: "day", Type: "date"},
		{Column: "at", Type: "timestamp", Zone: zone}, {Rest: true}}}}
}

// typedCells returns two rows of typedJob: one with all columns, one with hardly any.
func typedCells(t testing.TB) []hfile.Cell {
	s := typedJob()
	texts := map[string]string{"id": "1", "s": "-7", "i": "8", "l": "9223372036854775807", "f": "0.1", "d": "1e+300", "b": "true", "dec": "12.30", "day": "2017-09-01", "at": "2017-09-01 08:00:00", "note": "a,\"b\"\n拒绝"}
	var cells []hfile.Cell
	for _, c := range s.Columns {
		family, qualifier, value := "f", c, texts[c]
		for _, entry := range s.Cells {
			if entry.Column == c {
				value = typed(t, entry.CellType(), value)
				if entry.Family != "" {
					family, qualifier = entry.Family, entry.Qualifier
				}
			}
		}
		cells = append(cells, put("r1", family+":"+qualifier, value))
	}
	return append(cells, put("r2", "f:id", "2"), put("r2", "f:note", ""), put("r2", "h:other", "x"))
}

// TestTypes writes a value of each type in each format, and package source reads the texts that the job converts.
func TestTypes(t *testing.T) {
	snap := labCells(t, typedCells(t), "r2")
	full := map[string]any{"id": "1", "s": "-7", "i": "8", "l": "9223372036854775807", "f": "0.1", "d": "1e+300", "b": "true", "dec": "12.30", "day": "2017-09-01", "at": "2017-09-01 08:00:00", "note": "a,\"b\"\n拒绝"}
	bare := map[string]any{"id": "2", "note": ""}
	for name := range full {
		if _, ok := bare[name]; !ok {
			bare[name] = nil
		}
	}
	for _, format := range Formats() {
		s := typedJob()
		if format == "csv" {
			s.Dialect = "postgres-csv"
		} else {
			s.Format = map[string]string{"parquet": "parquet", "jsonl": "json", "dump": "parquet"}[format]
		}
		fsys, m := exported(t, snap, Options{Format: Format(format), Job: resolve(t, s), Workers: 2})
		if m.LeftOver != 0 || m.Digest.Rows != 2 || m.Digest.Cells != 13 || len(m.Files) != 2 || m.Files[1].Digest.Rows != 1 {
			t.Errorf("%s: %+v", format, m)
		}
		o := source.Options{Columns: s.Columns}
		if d := resolve(t, s).Text(); d != nil {
			o.Dialect = d
		}
		if format == "dump" {
			x := textOf(t, Dump, s)
			o = reading(x, s.Columns)
		}
		rows, err := readBack(t, fsys, "/out", o)
		if want := []map[string]any{full, bare}; err != nil || fmt.Sprint(rows) != fmt.Sprint(want) {
			t.Errorf("%s: %v\n%v\n%v", format, err, rows, want)
		}
	}
}

// TestEmptyFirst exports empty values before any other value of a region: they are not NULL.
func TestEmptyFirst(t *testing.T) {
	snap := labCells(t, []hfile.Cell{put("a", "f:note", ""), put("b", "f:note", ""), put("c", "f:note", "x"), put("d", "f:note", "")})
	s := spec.Spec{Columns: []string{"note"}, Empty: "store"}
	for _, format := range []Format{JSONL, Parquet} {
		s.Format = map[Format]string{JSONL: "json", Parquet: "parquet"}[format]
		fsys, _ := exported(t, snap, Options{Format: format, Job: resolve(t, s)})
		rows, err := readBack(t, fsys, "/out", source.Options{Columns: s.Columns})
		if want := "[map[note:] map[note:] map[note:x] map[note:]]"; err != nil || fmt.Sprint(rows) != want {
			t.Errorf("%s: %v, %v", format, rows, err)
		}
	}
}

// TestCells checks exports without a job, to the byte.
func TestCells(t *testing.T) {
	cells := []hfile.Cell{put("a\x00", "f:q", "1,2"), put("a\x00", "f:\xfe", "\xff"), put("b", "f:q", ""), put("b", "g:x\\y", "t\"\\N"), put("c", "g:z", "zz")}
	newer := put("b", "f:q", "")
	old := put("b", "f:q", "old")
	old.Timestamp = 7
	cells = append(cells, old)
	cells[2] = newer
	gone := put("d", "f:q", "gone")
	marker := put("d", "f:q", "")
	marker.Type, marker.Timestamp = hfile.DeleteColumn, 2000
	snap := labCells(t, append(cells, gone, marker), "b", "e")
	for _, c := range []struct {
		o    Options
		want string
	}{
		{Options{Format: JSONL}, `{"$row":"a\\x00","f:q":"1,2","f:\\xFE":{"base64":"/w=="}}
{"$row":"b","f:q":"","g:x\\x5Cy":"t\"\\N"}
{"$row":"c","g:z":"zz"}
`},
		{Options{Format: JSONL, Columns: []string{"g:z", `f:\xFE`, "f:q"}}, `{"$row":"a\\x00","g:z":null,"f:\\xFE":{"base64":"/w=="},"f:q":"1,2"}
{"$row":"b","g:z":null,"f:\\xFE":null,"f:q":""}
{"$row":"c","g:z":"zz","f:\\xFE":null,"f:q":null}
`},
		{Options{Format: CSV, Columns: []string{"f:q", `g:x\x5Cy`}}, "$row,f:q,g:x\\x5Cy\na\\x00,\"1,2\",\n$row,f:q,g:x\\x5Cy\nb,\"\",\"t\"\"\\N\"\n"},
		{Options{Format: Dump, Columns: []string{"$row", "f:q"}}, "a\\x00\x011,2\x10b\x01\x10"},
		{Options{Format: Dump, Columns: []string{"g:z", "f:q"}}, "a\\x00\x01\\N\x011,2\x10b\x01\\N\x01\x10c\x01zz\x01\\N\x10"},
	} {
		fsys, m := exported(t, snap, c.o)
		got := ""
		for _, f := range m.Files {
			got += string(jobtest.ReadWhole(t, fsys, "/out/"+f.Name))
		}
		if got != c.want {
			t.Errorf("%s %q:\n%q\nwant\n%q", c.o.Format, c.o.Columns, got, c.want)
		}
		if m.Files[0].Name != "part-00000."+string(c.o.Format) || m.Files[1].Name != "part-00001."+string(c.o.Format) || len(m.Files) != 2 {
			t.Errorf("%+v", m.Files)
		}
	}
	fsys, m := exported(t, snap, Options{Format: Parquet, Columns: []string{"f:q", `f:\xFE`}})
	rows, err := readBack(t, fsys, "/out", source.Options{})
	if want := "[map[$row:a\\x00 f:\\xFE:\xff f:q:1,2] map[$row:b f:\\xFE:<nil> f:q:]]"; err != nil || fmt.Sprint(rows) != want || m.NoCells != 0 || m.LeftOver != 0 {
		t.Errorf("%v\n%q\n%q, %+v", err, fmt.Sprint(rows), want, m)
	}
}

// TestLeftOut checks the counts of cells and rows in no column.
func TestLeftOut(t *testing.T) {
	snap := labCells(t, []hfile.Cell{put("a", "f:a", "1"), put("a", "f:c", "2"), put("b", "f:b", "3"), put("c", "f:a", "4"), put("c", "f:d", "5"), put("d", "g:a", "6")})
	_, m := exported(t, snap, Options{Format: JSONL, Columns: []string{"f:a", "f:c"}})
	if m.Digest.Rows != 2 || m.Digest.Cells != 3 || m.NoCells != 1 || m.LeftOver != 2 { // g is not read
		t.Errorf("%+v", m)
	}
}

// TestAbsentColumns checks that columns that no row of any region has are named, as of a mistyped name.
func TestAbsentColumns(t *testing.T) {
	snap := labCells(t, []hfile.Cell{put("a", "f:a", "1"), put("b", "f:b", "2"), put("n", "f:c", ""), put("n", "f:d", "3")}, "m", "x")
	columns := []string{"$row", "f:typo", "f:a", "f:b", "f:c", "f:zz"}
	for _, format := range []Format{JSONL, CSV, Dump, Parquet} {
		_, m := exported(t, snap, Options{Format: format, Columns: columns})
		if want := []string{"f:typo", "f:zz"}; !slices.Equal(m.Absent, want) {
			t.Errorf("%s: %q, want %q", format, m.Absent, want)
		}
	}
	if _, m := exported(t, snap, Options{Format: JSONL}); m.Absent != nil {
		t.Errorf("all cells: %q", m.Absent)
	}
}

// TestEmptyTables checks that a table without rows gives one file with the column names, or none if the format has no names.
func TestEmptyTables(t *testing.T) {
	for format, files := range map[Format]string{CSV: "$row,f:a\n", JSONL: "", Dump: "", Parquet: "PAR1"} {
		fsys, m := exported(t, labCells(t, nil, "m"), Options{Format: format, Columns: []string{"f:a"}})
		names := listed(t, fsys, "/out")
		if files == "" {
			if len(m.Files) != 0 || !slices.Equal(names, []string{exportdir.ManifestName}) {
				t.Errorf("%s: %v %v", format, m.Files, names)
			}
			continue
		}
		if len(m.Files) != 1 || len(names) != 2 || !strings.HasPrefix(string(jobtest.ReadWhole(t, fsys, "/out/"+m.Files[0].Name)), files) {
			t.Errorf("%s: %v %v", format, m.Files, names)
		}
	}
	// Only the first file has a header, so it must exist.
	s := spec.Spec{Columns: []string{"a"}, Reading: spec.Reading{Dialect: "csv", NullValue: spec.Texts{"-"}}, Header: "first"}
	fsys, m := exported(t, labCells(t, []hfile.Cell{put("x", "f:a", "1")}, "m"), Options{Format: CSV, Job: resolve(t, s)})
	if len(m.Files) != 2 || string(jobtest.ReadWhole(t, fsys, "/out/part-00000.csv")) != "a\n" || string(jobtest.ReadWhole(t, fsys, "/out/part-00001.csv")) != "1\n" {
		t.Errorf("%+v", m.Files)
	}
}

func listed(t testing.TB, fsys hdfsio.FS, dir string) (names []string) {
	t.Helper()
	infos, err := fsys.ReadDir(t.Context(), dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	testcheck.Must(t, err)
	for _, i := range infos {
		names = append(names, i.Name())
	}
	return names
}

// TestStandIns checks the output for a missing and for an empty cell, according to the job's handling of NULL and of an empty text.
func TestStandIns(t *testing.T) {
	for _, c := range []struct {
		name           string
		s              spec.Spec
		format         Format
		absent, empty  string // of the record with the other column, or the error
		cellEmpty, cel string
	}{
		{name: "plain", format: CSV, absent: "1,", empty: "the cell is empty"},
		{name: "plain, stored", s: spec.Spec{Empty: "store"}, format: CSV, absent: "the cell is missing", empty: "1,"},
		{name: "NULL", s: spec.Spec{Reading: spec.Reading{Dialect: "postgres-csv"}}, format: CSV, absent: "1,", empty: `1,""`},
		{name: "NULL, skipped", s: spec.Spec{Empty: "skip", Reading: spec.Reading{Dialect: "postgres-csv"}}, format: CSV, absent: "1,", empty: "the cell is empty"},
		{name: "a dump", format: Dump, absent: "1\x01", empty: "the cell is empty"},
		{name: "a dump with NULL", s: spec.Spec{Format: "dump", Reading: spec.Reading{NullValue: spec.Texts{"-"}}}, format: Dump, absent: "1\x01-", empty: "1\x01"},
		{name: "NULL is stored", s: spec.Spec{Empty: "skip", Reading: spec.Reading{Dialect: "postgres-csv"}, Mapping: spec.Mapping{Cells: []spec.CellSpec{{Column: "a"}, {Column: "b", Nulls: "store"}}}}, format: CSV, absent: `1,""`, empty: "1,"},
		{name: "of another format", s: spec.Spec{Format: "parquet"}, format: Dump, absent: "1\x01\\N", empty: "1\x01"},
	} {
		c.s.Columns = []string{"a", "b"}
		for want, cells := range map[string][]hfile.Cell{c.absent: {put("r", "f:a", "1")}, c.empty: {put("r", "f:a", "1"), put("r", "f:b", "")}} {
			p, err := Compile(Options{Format: c.format, Job: resolve(t, c.s)})
			testcheck.Must(t, err)
			fsys := hdfsio.NewMemory()
			m, err := p.Run(t.Context(), labCells(t, cells), fsys, "/out")
			if err != nil {
				if !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "row 1, column b") || fail.KindOf(err) != fail.BadRows {
					t.Errorf("%s: %v, want %q", c.name, err, want)
				}
				if left := listed(t, fsys, "/out"); left != nil {
					t.Errorf("%s: %v is left", c.name, left)
				}
				continue
			}
			text := string(jobtest.ReadWhole(t, fsys, "/out/"+m.Files[0].Name))
			if !strings.HasSuffix(text[:len(text)-1], want) {
				t.Errorf("%s: %q, want %q at the end", c.name, text, want)
			}
		}
	}
}

// TestRefused checks the errors for values that a format or the job could not restore, and for options that contradict each other.
func TestRefused(t *testing.T) {
	day := typed(t, celltype.Type{Type: "timestamp", Layout: "yyyy-MM-dd HH:mm:ss.SSS"}, "2017-09-01 08:00:00.250")
	timed := spec.Spec{Columns: []string{"a"}, Mapping: spec.Mapping{Cells: []spec.CellSpec{{Column: "a", Type: "timestamp", Layout: "yyyy-MM-dd HH:mm:ss"}}}}
	plain := spec.Spec{Columns: []string{"a"}}
	for name, c := range map[string]struct {
		o     Options
		s     *spec.Spec
		value string
		says  string
	}{
		"0x01 in a dump":        {Options{Format: Dump}, &plain, "a\x01b", "row 2, column a: the value has a separator, quote or escape"},
		"0x10 in a dump":        {Options{Format: Dump}, &plain, "a\x10b", "column a: the value has a separator"},
		"NULL in a dump":        {Options{Format: Dump, Columns: []string{"f:a"}}, nil, `\N`, "column f:a: the value reads as NULL"},
		"no UTF-8 in CSV":       {Options{Format: CSV}, &plain, "\xff", "column a: the value is not UTF-8"},
		"no UTF-8 in JSON":      {Options{Format: JSONL}, &plain, "\xff", "column a: the value is not UTF-8"},
		"no UTF-8 in Parquet":   {Options{Format: Parquet}, &plain, "\xff", "column a: the value is not UTF-8"},
		"no value of the type":  {Options{Format: CSV}, &timed, "x", "column a: the bytes are not values of the column's type"},
		"more than the layout":  {Options{Format: CSV}, &timed, day, "column a: the value's text would be read as other bytes"},
		"a row above the bound": {Options{Format: JSONL, Memory: 1400 << 10}, &plain, strings.Repeat("x", 1300<<10), "the limit for a row with this `memory`"},
	} {
		if c.s != nil {
			c.o.Job = resolve(t, *c.s)
		}
		p, err := Compile(c.o)
		testcheck.Must(t, err)
		fsys := hdfsio.NewMemory()
		good := "x"
		if c.s == &timed {
			good = typed(t, celltype.Type{Type: "timestamp"}, "2017-09-01 08:00:00")
		}
		_, err = p.Run(t.Context(), labCells(t, []hfile.Cell{put("k1", "f:a", good), put("k2-secret", "f:a", c.value)}), fsys, "/out")
		if err == nil || !strings.Contains(err.Error(), c.says) || fail.KindOf(err) != fail.BadRows || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", name, err)
		}
		if data, ok := errors.AsType[*fail.DataError](err); !ok || string(data.Data()) != "k2-secret" {
			t.Errorf("%s: the error has no row key", name)
		}
		if left := listed(t, fsys, "/out"); left != nil {
			t.Errorf("%s: %v is left", name, left)
		}
	}
	wide := spec.Spec{Columns: []string{"a", "b"}, Mapping: spec.Mapping{Cells: []spec.CellSpec{{Column: "a", QualifierFrom: "b"}}}}
	object := spec.Spec{Columns: []string{"a", "b"}, Mapping: spec.Mapping{Cells: []spec.CellSpec{{JSON: true, Qualifier: "all"}, {Column: "a"}}}}
	phoenix := spec.Spec{Columns: []string{"a"}, Mapping: spec.Mapping{Cells: []spec.CellSpec{{Column: "a", Type: "decimal", Encoding: "phoenix"}}}}
	paths := spec.Spec{Columns: []string{"a.b"}, Format: "json"}
	for says, c := range map[string]struct {
		o Options
		s *spec.Spec
	}{
		`format` + "` \"xml\" is invalid: want":       {Options{Format: "xml"}, nil},
		"has the same columns in all records":         {Options{Format: CSV}, nil},
		"write it as family:qualifier":                {Options{Format: CSV, Columns: []string{"a"}}, nil},
		"is the cell of another column, too":          {Options{Format: CSV, Columns: []string{"f:a", `f:\x61`}}, nil},
		"column \"z\" is not a column of the job (a)": {Options{Format: CSV, Columns: []string{"z"}}, &plain},
		"column \"a\" is named twice":                 {Options{Format: CSV, Columns: []string{"a", "a"}}, &plain},
		"the job file lists no columns":               {Options{Format: CSV}, &spec.Spec{}},
		"qualifier_from":                              {Options{Format: CSV}, &wide},
		"it is in a JSON object":                      {Options{Format: CSV}, &object},
		"the table does not store it":                 {Options{Format: CSV}, &spec.Spec{Columns: []string{"a"}, Mapping: spec.Mapping{Skip: []string{"a"}}}},
		"type decimal of phoenix has no text":         {Options{Format: CSV}, &phoenix},
		"a path into a JSON object":                   {Options{Format: JSONL}, &paths},
		"neither may be below 0":                      {Options{Format: JSONL, Workers: -1}, &plain},
	} {
		if c.s != nil {
			c.o.Job = resolve(t, *c.s)
		}
		if _, err := Compile(c.o); err == nil || !strings.Contains(err.Error(), says) || fail.KindOf(err) != fail.Config {
			t.Errorf("%s: %v", says, err)
		}
	}
	p, err := Compile(Options{Format: CSV, Columns: []string{"none:a"}})
	testcheck.Must(t, err)
	if _, err := p.Run(t.Context(), labCells(t, nil), hdfsio.NewMemory(), "/out"); fail.KindOf(err) != fail.Config || !strings.Contains(err.Error(), "no family none") {
		t.Error(err)
	}
	if p, err = Compile(Options{Format: Parquet, Columns: []string{"f:a"}, Memory: 1 << 20}); err == nil {
		_, err = p.Run(t.Context(), labCells(t, nil), hdfsio.NewMemory(), "/out")
	}
	if err == nil || !strings.Contains(err.Error(), "`memory` is 1MiB: give more") {
		t.Error(err)
	}
}

// TestDirectory checks that only an empty directory is accepted, and that an export that fails at any step leaves nothing in it.
func TestDirectory(t *testing.T) {
	var cells []hfile.Cell
	for i := range 40 {
		cells = append(cells, put(fmt.Sprintf("%02d", i), "f:a", "x"))
	}
	snap := labCells(t, cells, "10", "20", "30")
	fsys, m := exported(t, snap, Options{Format: CSV, Columns: []string{"f:a"}, Workers: 3})
	if want := []string{exportdir.ManifestName, "part-00000.csv", "part-00001.csv", "part-00002.csv", "part-00003.csv"}; !slices.Equal(listed(t, fsys, "/out"), want) {
		t.Errorf("%v", listed(t, fsys, "/out"))
	}
	read, err := ReadManifest(t.Context(), fsys, "/out")
	if err != nil || fmt.Sprint(read.Files) != fmt.Sprint(m.Files) || read.Digest != m.Digest || read.Bytes != m.Bytes || !read.Created.Equal(time.UnixMilli(1000)) {
		t.Errorf("%+v, %v", read, err)
	}
	p, err := Compile(Options{Format: CSV, Columns: []string{"f:a"}, Workers: 3})
	testcheck.Must(t, err)
	if _, err := p.Run(t.Context(), snap, fsys, "/out"); !errors.Is(err, exportdir.ErrNotEmpty) || !strings.Contains(err.Error(), "complete export") || fail.KindOf(err) != fail.Config {
		t.Error(err)
	}
	testcheck.Must(t, fsys.MkdirAll(t.Context(), "/empty", 0o755))
	for _, dir := range []string{"/empty", "/missing"} {
		for stop := range 13 { // the directory, the token, four files and the manifest, each created and renamed
			ctx, cancel := context.WithCancelCause(t.Context())
			broken := &breaking{FS: fsys, after: stop, cancel: cancel}
			_, err := p.Run(ctx, snap, broken, dir)
			cancel(nil)
			if err == nil {
				t.Fatalf("step %d of %s does not fail", stop, dir)
			}
			if left := listed(t, fsys, dir); len(left) > 0 {
				t.Errorf("%s, step %d: %v is left after %v", dir, stop, left, err)
			}
			if _, err := fsys.Stat(t.Context(), dir); (dir == "/empty") != (err == nil) {
				t.Errorf("%s, step %d: %v", dir, stop, err)
			}
		}
	}
}

// breaking fails at one step of writing: by an error, or with an odd number because a signal has come.
type breaking struct {
	hdfsio.FS
	after  int
	mu     sync.Mutex
	steps  int
	cancel context.CancelCauseFunc
}

var errBroken = errors.New("broken")

func (b *breaking) step() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.steps++
	switch {
	case b.steps != b.after+1:
		return nil
	case b.after%2 == 1:
		b.cancel(errBroken)
		return nil
	}
	return errBroken
}

func (b *breaking) Create(ctx context.Context, name string, o hdfsio.CreateOptions) (hdfsio.Writer, error) {
	if err := b.step(); err != nil {
		return nil, err
	}
	return b.FS.Create(ctx, name, o)
}

func (b *breaking) Rename(ctx context.Context, from, to string) error {
	if err := b.step(); err != nil {
		return err
	}
	return b.FS.Rename(ctx, from, to)
}

func (b *breaking) MkdirAll(ctx context.Context, name string, perm fs.FileMode) error {
	if err := b.step(); err != nil {
		return err
	}
	return b.FS.MkdirAll(ctx, name, perm)
}

// TestAllocations checks that nothing is allocated per row or cell.
func TestAllocations(t *testing.T) {
	convert, err := celltype.Type{Type: "long"}.Converter()
	testcheck.Must(t, err)
	var cells []hfile.Cell
	for i := range 20_000 {
		key := fmt.Sprintf("%06d", i)
		n, err := convert(nil, fmt.Append(nil, i))
		testcheck.Must(t, err)
		cells = append(cells, put(key, "f:n", string(n)), put(key, "f:text", fmt.Sprint("拒绝 \"", i%50, "\"")))
	}
	snap := labCells(t, cells)
	s := spec.Spec{Columns: []string{"n", "text", "none"}, Mapping: spec.Mapping{Cells: []spec.CellSpec{{Column: "n", Type: "long"}, {Rest: true}}}}
	for _, format := range Formats() {
		p, err := Compile(Options{Format: Format(format), Job: resolve(t, s)})
		testcheck.Must(t, err)
		sc, err := snap.Scan(t.Context(), 0, snapshot.View{Versions: 1})
		testcheck.Must(t, err)
		e, err := p.begin(io.Discard, true, 64<<20)
		testcheck.Must(t, err)
		r := &rows{plan: p, out: e, most: 1 << 20}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		testcheck.Must(t, r.run(t.Context(), sc))
		runtime.ReadMemStats(&after)
		testcheck.Must(t, sc.Close())
		if n := after.Mallocs - before.Mallocs; r.digest.Rows != 20_000 || n > 5_000 {
			t.Errorf("%s: %d rows, %d allocations", format, r.digest.Rows, n)
		}
	}
}

// TestParquetMemory checks that the memory of an encoder stays within its limit, also while it writes a row group.
func TestParquetMemory(t *testing.T) {
	if race.On {
		t.Skip("the race detector has memory of its own")
	}
	const most = 24 << 20
	columns := []column{{name: "a"}, {name: "b"}, {name: "c"}}
	h := &heap{}
	h.look()
	base := h.peak
	e, err := newParquetEncoder(h, columns, most)
	testcheck.Must(t, err)
	rng := rand.New(rand.NewPCG(1, 2))
	r := row{data: make([]byte, 300), values: []span.Span{{Off: 0, Len: 290}, {Off: 290, Len: 5}, span.Null()}}
	for n := range 200_000 {
		for i := range r.data {
			r.data[i] = 'a' + byte(rng.Uint32()&15)
		}
		if _, err := e.row(&r); err != nil {
			t.Fatal(err)
		}
		if n%20_000 == 0 {
			h.look()
		}
	}
	testcheck.Must(t, e.close())
	if held := int64(h.peak - base); held > most || h.writes < 20 {
		t.Errorf("%d bytes are held, %d may be, in %d writes", held, most, h.writes)
	}
}

// heap is a file that looks at the memory in use when a piece is written to it.
type heap struct {
	writes int
	peak   uint64
}

func (h *heap) Write(b []byte) (int, error) {
	if h.writes++; h.writes%8 == 0 {
		h.look()
	}
	return len(b), nil
}

func (h *heap) look() {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	h.peak = max(h.peak, m.HeapAlloc)
}
