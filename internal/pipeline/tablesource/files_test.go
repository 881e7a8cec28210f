package tablesource_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"bulkload/internal/model/choice"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/pipeline/tablesource"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/race"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testsnapshot"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/hfile"
	"bulkload/pkg/keygen"
	"bulkload/pkg/source"
)

// input opens the lab's snapshot as an input.
func (l *lab) input(o source.Options) (*source.Input, error) {
	files := tablesource.NewFiles(hdfsio.Local{}, l.Root, "s", tablesource.Ref{Snapshot: "s"}, nil)
	return source.Open(l.t.Context(), func(string) (source.FS, string, error) { return files, files.Dir(), nil }, []string{"snapshot:s"}, o)
}

// texts returns the records of an input, one line each.
func texts(t testing.TB, in *source.Input) (lines []string, read int64) {
	t.Helper()
	r := in.NewReader()
	for i := range in.Splits() {
		testcheck.Must(t, r.Read(t.Context(), i, func(b *source.Batch) error {
			read += b.Bytes
			lines = append(lines, recordsOf(b)...)
			return nil
		}))
	}
	return lines, read
}

// recordsOf returns the records of a batch, one line each.
func recordsOf(b *source.Batch) (lines []string) {
	for row := range b.Rows {
		var values []string
		for c := range b.Cols {
			text := fmt.Sprintf("%q", b.Field(row, c))
			if b.Null(row, c) {
				text = "NULL"
			}
			values = append(values, text)
		}
		lines = append(lines, strings.Join(values, " "))
	}
	return lines
}

// smallLab has two regions, each family in one or two files, newer versions, deleted columns and rows, and empty values.
func smallLab(t testing.TB) *lab {
	put := testsnapshot.Put
	l := newLab(t, "m", "t")
	l.Load(0, put("a", "f", "q", 5, "old"), put("a", "f", "z", 5, "z"), put("b", "f", "q", 5, ""), put("c", "f", "q", 5, "gone"))
	l.Load(0, put("a", "f", "q", 7, "new"), del("c", "f", "q", 7))
	l.Load(0, put("a", "g", "q", 5, "\x00\xff,\"\n"), put("d", "g", "other", 5, "x"))
	l.Load(0, put("t\x10", "g", "a:b", 9, "colon"), put("t\x10", "g", "q", 9, "G"))
	l.Save()
	return l
}

// TestRecords checks that records have the values that a Scan would return, as bytes.
func TestRecords(t *testing.T) {
	l := smallLab(t)
	in, err := l.input(source.Options{Columns: []string{"g:q", "$row", "f:q", "g:a:b"}})
	testcheck.Must(t, err)
	want := []string{`"\x00\xff,\"\n" "a" "new" NULL`, `NULL "b" "" NULL`, `NULL "d" NULL NULL`, `"G" "t\x10" NULL "colon"`}
	got, read := texts(t, in)
	if !slices.Equal(got, want) {
		t.Errorf("%s, want %s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	files := in.Files()
	var size int64
	for _, f := range files {
		size += f.Size
	}
	if len(files) != 2 || files[0].Format != source.FormatTable || !strings.HasPrefix(files[0].Path, "snapshot:s/") || !files[0].ModTime.Equal(time.UnixMilli(1_000_000)) || read != size {
		t.Errorf("%+v, %d of %d bytes were read", files, read, size)
	}
	// The columns that the key and the mapping name suffice.
	in, err = l.input(source.Options{Named: []string{"f:q"}})
	testcheck.Must(t, err)
	if got, _ := texts(t, in); !slices.Equal(got, []string{`"new"`, `""`, "NULL", "NULL"}) || !slices.Equal(in.Columns(), []string{"f:q"}) {
		t.Errorf("%q, columns %q", got, in.Columns())
	}
	first, ok := in.Sum(0)
	again, err := l.input(source.Options{Columns: []string{"f:q"}, ChunkSize: 1})
	testcheck.Must(t, err)
	texts(t, again)
	if sum, _ := again.Sum(0); !ok || sum != first {
		t.Errorf("the checksum is %08x, and in small batches %08x", first, sum)
	}
}

// TestColumnsThatAreRefused checks the errors for columns that a table cannot have.
func TestColumnsThatAreRefused(t *testing.T) {
	l := smallLab(t)
	for says, o := range map[string]source.Options{
		"does not say which columns its rows have":                                                 {},
		`column "q": the table n:t has the families f, g: name the column with its own, as in f:q`: {Columns: []string{"q"}},
		`column "h:q": the table n:t has the families f, g`:                                        {Columns: []string{"$timestamp:h:q"}},
		"of a row there are $row and $timestamp":                                                   {Columns: []string{"$time"}},
		`columns "$timestamp:q" and "$timestamp:f:q" are one`:                                      {Columns: []string{"$timestamp:q", "q", "$timestamp:f:q"}},
		"it has no `format` csv":                                                                   {Columns: []string{"f:q"}, Format: source.FormatCSV},
		"which are read together":                                                                  {Columns: []string{"f:q"}, Memory: 1 << 20},
		`columns "q" and "f:q" are one`:                                                            {Columns: []string{"q", "f:q"}},
	} {
		l := l
		if strings.Contains(says, "are one") {
			l = oneFamily(t)
		}
		if _, err := l.input(o); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", says, err)
		}
	}
}

// oneFamily returns a table with only the family f, whose qualifiers are columns.
func oneFamily(t testing.TB) *lab {
	l := newLabOf(t, testsnapshot.Options{})
	l.Load(0, testsnapshot.Put("a", "f", "q", 5, "1"), testsnapshot.Put("b", "f", "q", 5, "2"))
	l.Save()
	return l
}

func TestOneFamily(t *testing.T) {
	in, err := oneFamily(t).input(source.Options{Columns: []string{"q", "$row"}})
	testcheck.Must(t, err)
	if got, _ := texts(t, in); !slices.Equal(got, []string{`"1" "a"`, `"2" "b"`}) {
		t.Errorf("%q", got)
	}
}

// TestReplaced checks that a snapshot of the same name that was taken again is another input.
func TestReplaced(t *testing.T) {
	for name, change := range map[string]func(*lab){
		"of another time": func(l *lab) { l.Created++ },
		"of other files": func(l *lab) {
			l.Regions[2].Files = nil
			l.Load(0, testsnapshot.Put("t", "f", "q", 5, "x"))
		},
	} {
		l := smallLab(t)
		in, err := l.input(source.Options{Columns: []string{"f:q"}})
		testcheck.Must(t, err)
		testcheck.Must(t, in.Recheck(t.Context()))
		change(l)
		l.Save()
		err = in.Recheck(t.Context())
		if _, ok := errors.AsType[*source.ChangedError](err); !ok {
			t.Errorf("%s: %v", name, err)
		}
		testcheck.Must(t, os.RemoveAll(filepath.Join(l.Root, ".hbase-snapshot")))
		if err := in.Recheck(t.Context()); err == nil {
			t.Errorf("%s: a snapshot that is gone is the same", name)
		}
	}
}

// TestManyRows compares random tables with a map of their cells.
func TestManyRows(t *testing.T) {
	seed := testcheck.Seed(t)
	r := rand.New(rand.NewPCG(seed, 1))
	const columns = "abcdefgh"
	l, want := newLab(t, "k0150", "k0500"), []string{}
	l.HFiles = hfile.Options{BlockSize: 2000, Compression: hfile.CompressionSnappy, Encoding: hfile.EncodingFastDiff}
	names := []string{"$row"}
	for _, c := range columns {
		names = append(names, "f:"+string(c), "g:"+string(c))
	}
	var cells []hfile.Cell
	for n := range 1000 {
		row := fmt.Sprintf("k%04d", n)
		record, any := map[string]string{"$row": fmt.Sprintf("%q", row)}, false
		for _, family := range []string{"f", "g"} {
			for _, c := range columns + "xyz" { // those after columns are not requested
				if r.IntN(3) > 0 {
					continue
				}
				value := strings.Repeat("v", r.IntN(200))
				cells = append(cells, testsnapshot.Put(row, family, string(c), 5, value))
				record[family+":"+string(c)], any = fmt.Sprintf("%q", value), true
			}
		}
		var line []string
		for _, name := range names {
			text, ok := record[name]
			if !ok {
				text = "NULL"
			}
			line = append(line, text)
		}
		if any {
			want = append(want, strings.Join(line, " "))
		}
	}
	l.Load(0, cells...)
	l.Save()
	in, err := l.input(source.Options{Columns: names, ChunkSize: 20 << 10})
	testcheck.Must(t, err)
	if got, _ := texts(t, in); !slices.Equal(got, want) {
		t.Errorf("%d records, want %d", len(got), len(want))
	}
	if in.Records() != int64(len(want)) || len(in.Splits()) != 3 {
		t.Errorf("%d records in %d splits", in.Records(), len(in.Splits()))
	}
}

// TestNoAllocation checks that allocations do not grow with rows and cells.
func TestNoAllocation(t *testing.T) {
	if race.On {
		t.Skip("the race detector allocates")
	}
	count := func(rows int) float64 {
		var cells []hfile.Cell
		for i := range rows {
			for _, q := range []string{"a", "b", "c"} {
				cells = append(cells, testsnapshot.Put(fmt.Sprintf("%08d", i), "f", q, 5, "some value"))
			}
		}
		l := newLab(t)
		l.HFiles.BlockSize = 4 << 20
		l.Load(0, cells...)
		l.Save()
		in, err := l.input(source.Options{Columns: []string{"f:a", "f:c", "$row"}})
		testcheck.Must(t, err)
		reader := in.NewReader()
		return testing.AllocsPerRun(3, func() {
			testcheck.Must(t, reader.Read(t.Context(), 0, func(*source.Batch) error { return nil }))
		})
	}
	if few, many := count(1000), count(20000); many > few+100 {
		t.Errorf("%.0f allocations for 1,000 rows, %.0f for 20,000", few, many)
	}
}

// TestBuildOfSnapshot builds HFiles from a file, and builds from a snapshot of these HFiles under another key: the result
// equals a build from the file.
func TestBuildOfSnapshot(t *testing.T) {
	env := jobtest.Env(t)
	s := jobtest.Spec(t, "check")
	columns := s.Columns
	s.Inputs, s.Timestamp = []string{jobtest.Export(t, "check.csv")}, 1_700_000_000_000
	s.Key = "salt(check_id, 10) + md5hex(check_id) + id"
	splits := [][]byte{[]byte("3"), []byte("7")}
	family := spec.DefaultFamily("f")
	run := func(s spec.Spec) string {
		t.Helper()
		dir := filepath.Join(t.TempDir(), "out")
		_, err := build.Directory(t.Context(), env, jobtest.Resolve(t, s), family, splits, dir, build.WorkOptions{Workers: 3, Memory: 256 << 20})
		testcheck.Must(t, err)
		return dir
	}
	first := run(s)
	s.Key = "md5hex(id) + '|' + check_id + rule_no"
	want := jobtest.Hashes(t, run(s))

	l := newLabOf(t, testsnapshot.Options{Splits: []string{"3", "7"}, Created: 1_800_000_000_000})
	list, err := filepath.Glob(filepath.Join(first, "f", "*"))
	testcheck.Must(t, err)
	for _, name := range list {
		b, err := os.ReadFile(name)
		testcheck.Must(t, err)
		r, err := hfile.Open(bytes.NewReader(b), int64(len(b)), hfile.ReaderOptions{})
		testcheck.Must(t, err)
		row, _, err := r.Rows()
		testcheck.Must(t, err)
		l.Add(l.RegionOf(row), "f", 0, b)
	}
	l.Save()
	files := tablesource.NewFiles(hdfsio.Local{}, l.Root, "s", tablesource.Ref{Snapshot: "s"}, nil)
	env.Mount("snapshot:s", files, files.Dir())
	s.Inputs, s.Columns = []string{"snapshot:s"}, columns
	if got := jobtest.Hashes(t, run(s)); len(got) < 3 || !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	// The same holds for regions in parts.
	files = tablesource.NewFiles(hdfsio.Local{}, l.Root, "s", tablesource.Ref{Snapshot: "s"}, nil)
	files.PartBytes = 1
	infos, err := files.ReadDir(t.Context(), files.Dir())
	testcheck.Must(t, err)
	if len(infos) < 6 {
		t.Errorf("three regions are %d files", len(infos))
	}
	env.Mount("snapshot:s", files, files.Dir())
	if got := jobtest.Hashes(t, run(s)); !maps.Equal(got, want) {
		t.Errorf("in %d parts: %v, want %v", len(infos), got, want)
	}
	// The id from the old key equals the id in the cell.
	s.Parse = "salt(check_id, 10) + md5hex(check_id) + id"
	files = tablesource.NewFiles(hdfsio.Local{}, l.Root, "s", tablesource.Ref{Snapshot: "s"}, jobtest.Resolve(t, s).KeyParser)
	env.Mount("snapshot:s", files, files.Dir())
	if got := jobtest.Hashes(t, run(s)); !maps.Equal(got, want) {
		t.Errorf("with the id of the key: %v, want %v", got, want)
	}
	// Without a list of columns, the remaining columns are unknown.
	s.Columns = nil
	_, err = build.Directory(t.Context(), env, jobtest.Resolve(t, s), family, splits, filepath.Join(t.TempDir(), "out"), build.WorkOptions{})
	if err == nil || !strings.Contains(err.Error(), "a table does not say which columns") {
		t.Error(err)
	}
}

// TestParsedKeys checks that columns are parsed from row keys by a spec, and that a key that does not match the spec ends the reading.
func TestParsedKeys(t *testing.T) {
	e, err := keygen.Parse("md5hex(id) + id + '|' + day")
	testcheck.Must(t, err)
	program, err := keygen.Compile(e, keygen.Options{})
	testcheck.Must(t, err)
	key := func(id, day string) string {
		b, err := program.Append(nil, [][]byte{[]byte(id), []byte(day)})
		testcheck.Must(t, err)
		return string(b)
	}
	open := func(keys ...string) (*source.Input, error) {
		l := newLab(t)
		var cells []hfile.Cell
		for _, k := range slices.Sorted(slices.Values(keys)) {
			cells = append(cells, testsnapshot.Put(k, "f", "id", 5, "of the cell"))
		}
		l.Load(0, cells...)
		l.Save()
		parser := func() (*keygen.KeyParser, error) { return keygen.CompileParser(e, keygen.Options{}) }
		files := tablesource.NewFiles(hdfsio.Local{}, l.Root, "s", tablesource.Ref{Snapshot: "s"}, parser)
		return source.Open(t.Context(), func(string) (source.FS, string, error) { return files, files.Dir(), nil }, []string{"snapshot:s"},
			source.Options{Columns: []string{"day", "f:id", "id"}})
	}
	in, err := open(key("a", "2"), key("b", "1"), key("c", "7"))
	testcheck.Must(t, err)
	got, _ := texts(t, in)
	slices.Sort(got)
	if want := []string{`"1" "of the cell" "b"`, `"2" "of the cell" "a"`, `"7" "of the cell" "c"`}; !slices.Equal(got, want) {
		t.Errorf("%s, want %s", got, want)
	}
	for says, bad := range map[string]string{"does not match the key spec": "0" + key("a", "2"), "in several ways": key("a|b", "2")} {
		if in, err = open(key("b", "1"), bad); err != nil {
			t.Fatal(err)
		}
		err = in.NewReader().Read(t.Context(), 0, func(*source.Batch) error { return nil })
		if err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "a|b") {
			t.Errorf("%v, want %s", err, says)
		}
	}
}

// TestParseIsForTables checks that files are refused, since they have no row keys.
func TestParseIsForTables(t *testing.T) {
	if err := tablesource.CheckTables(jobtest.Resolve(t, spec.Spec{Key: "id", Inputs: []string{"a.csv"}, Parse: "md5hex(id) + id"})); fail.KindOf(err) != fail.Config {
		t.Error(err)
	}
	err := tablesource.CheckTables(jobtest.Resolve(t, spec.Spec{Key: "id", Inputs: []string{"a.csv"}, Choice: choice.Asked{StopRow: "m", Only: []string{"f"}}}))
	if fail.KindOf(err) != fail.Config || !strings.HasPrefix(err.Error(), "`stop_row`: rows and cells of input tables alone") {
		t.Error(err)
	}
	for _, s := range []spec.Spec{{Key: "id", Inputs: []string{"a.csv"}}, {Key: "id", Inputs: []string{"snapshot:s"}, Parse: "id", Choice: choice.Asked{FromKey: "1"}}} {
		if err := tablesource.CheckTables(jobtest.Resolve(t, s)); err != nil {
			t.Error(err)
		}
	}
}
