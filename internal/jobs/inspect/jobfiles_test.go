package inspect_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/formats/celltype"
	"bulkload/internal/jobs/export"
	"bulkload/internal/jobs/inspect"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/pipeline/filecheck"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/hdfsio"
)

// given returns a job file of inspect with the fields that a person adds: a table, and a key that is unique. It is nil if no column is unique.
func given(t testing.TB, r *inspect.Report, file []byte) *spec.Spec {
	t.Helper()
	s, err := spec.ParseSpec("job.yaml", file)
	if err != nil {
		t.Fatalf("%v\n%s", err, file)
	}
	plain := regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
	for _, k := range r.Keys {
		if len(k.Columns) == 1 && plain.MatchString(k.Columns[0]) && k.Nulls == 0 && k.Distinct == r.Sample.Rows {
			s.Table, s.Key = "t", k.Columns[0]
			return s
		}
	}
	return nil
}

// builds makes HFiles with a job file of inspect, and compares their cells with the values of the rows: text unchanged, other types by their texts.
// It also checks whether an export accepts the job file.
func builds(t testing.TB, r *inspect.Report, file []byte) {
	t.Helper()
	s := given(t, r, file)
	if s == nil {
		return
	}
	j := jobtest.Resolve(t, *s)
	formats := []export.Format{export.JSONL, export.Parquet}
	if s.SkipLines == 0 && s.Charset == "" && s.Quotes == "" && s.Dialect == "postgres-csv" {
		formats = append(formats, export.CSV) // export supports only files without skipped lines, in UTF-8, that can be read in one way
	}
	for _, f := range formats {
		if _, err := export.Compile(export.Options{Format: f, Job: &j, Columns: jsonNames(s)}); err != nil {
			t.Errorf("export as %s: %v\n%s", f, err, file)
		}
	}
	rows, err := readJob(t, file, nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, file)
	}
	out := filepath.Join(t.TempDir(), "out")
	m, err := build.Directory(t.Context(), jobtest.Env(t), j, jobtest.Family, nil, out, build.WorkOptions{Workers: 2})
	if err != nil {
		t.Fatalf("%v\n%s", err, file)
	}
	types := map[string]celltype.Type{}
	for _, c := range s.Cells {
		types[c.Column] = c.CellType()
	}
	var want, got []string
	for _, row := range rows {
		for name, v := range row {
			if v != nil && (v != "" || j.Text() == nil || len(j.Text().Null) > 0) {
				want = append(want, fmt.Sprintf("%s %s=%s", row[s.Key], name, v))
			}
		}
	}
	for _, f := range m.Files {
		h, c, err := filecheck.OpenHFile(t.Context(), hdfsio.Local{}, filepath.Join(out, f.Name))
		if err != nil {
			t.Fatal(err)
		}
		for scan := h.Scan(); scan.Next(); {
			cell := scan.Cell()
			value := string(cell.Value)
			if back := types[string(cell.Qualifier)].Appender(); back != nil {
				text, ok := back(nil, cell.Value)
				if value = string(text); !ok {
					value = "not a value"
				}
			}
			got = append(got, fmt.Sprintf("%s %s=%s", cell.Row, cell.Qualifier, value))
		}
		c.Close()
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("cells %.400q, want %.400q\n%s", got, want, file)
	}
}

// jsonNames returns the columns that an export of JSON lines can write: no paths.
func jsonNames(s *spec.Spec) (names []string) {
	for _, name := range s.Columns {
		if !strings.Contains(name, ".") {
			names = append(names, name)
		}
	}
	return names
}

// A smallFile is a file with the expected result: rows by their columns, or a doubt.
type smallFile struct {
	name, text string
	rows       string // id=1 name=Ann|id=2, without NULL
	cells      string // column:type
	doubt      string // fields of the doubt
	says       string // part of the doubt's text
}

// TestSmallFiles checks that if evidence or convention decides there is a job file, which a build accepts and which gives these rows, and otherwise
// one doubt.
func TestSmallFiles(t *testing.T) {
	for _, f := range []smallFile{
		{name: "a.csv", text: "id,name,city\n1,Ann,Paris\n2,,Rome\n3,Cy,\n", rows: "city=Paris id=1 name=Ann|city=Rome id=2|id=3 name=Cy", cells: "id:int"},
		{name: "quoted.csv", text: "id,name\n1,\"\"\n2,\n3,x\n", rows: "id=1 name=|id=2|id=3 name=x", cells: "id:int"},
		{name: "crlf.csv", text: "id,v\r\n1,a\r\n2,\r\n", rows: "id=1 v=a|id=2", cells: "id:int"},
		{name: "excel.csv", text: "id;name;amount\n1;Ann;1,5\n2;;2,5\n", rows: "amount=1,5 id=1 name=Ann|amount=2,5 id=2", cells: "id:int"},
		{name: "data.csv", text: "1,Ann,\n2,Bob,x\n", rows: "c1=1 c2=Ann|c1=2 c2=Bob c3=x", cells: "c1:int"},
		{name: "one row.csv", text: "id,v,w\n1,,\n", rows: "id=1", cells: "id:int"},
		{name: "one column.csv", text: "id\n1\n2\n", rows: "id=1|id=2", cells: "id:int"},
		{name: "types.csv", text: "id,at,big,d,n,yes,code,plus\n1,2026-01-01 10:00:00,99999999999,2026-01-01,1.50,true,007,+1\n-5,2026-01-01 10:00:01,1,2026-01-02,2,false,1,2\n",
			rows:  "at=2026-01-01 10:00:00 big=99999999999 code=007 d=2026-01-01 id=1 n=1.50 plus=+1 yes=true|at=2026-01-01 10:00:01 big=1 code=1 d=2026-01-02 id=-5 n=2 plus=2 yes=false",
			cells: "id:int at:timestamp big:long d:date n:decimal yes:boolean"},
		{name: "pandas.csv", text: ",id,v\n0,1,a\n1,2,b\n", rows: "c1=0 id=1 v=a|c1=1 id=2 v=b", cells: "c1:int id:int"},
		{name: "pandas of texts.csv", text: ",a,v\n0,x,a\n1,y,b\n", rows: "a=x c1=0 v=a|a=y c1=1 v=b", cells: "c1:int"},
		{name: "r.csv", text: "\"\",\"id\",\"v\"\n\"1\",1,\"a\"\n\"2\",2,\"b\"\n", rows: "c1=1 id=1 v=a|c1=2 id=2 v=b", cells: "c1:int id:int"},
		{name: "names of R.csv", text: "\"\",\"mpg\",\"c1\"\n\"Mazda\",21.5,6\n\"Fiat\",32,4\n", rows: "c1=6 c1_=Mazda mpg=21.5|c1=4 c1_=Fiat mpg=32", cells: "mpg:decimal c1:int"},
		{name: "pandas.txt", text: ",id,v\n0,1,a\n1,2,b\n2,3,\"c,d\"\n3,4,e\n4,5,f\n5,6,g\n", rows: "c1=0 id=1 v=a|c1=1 id=2 v=b|c1=2 id=3 v=c,d|c1=3 id=4 v=e|c1=4 id=5 v=f|c1=5 id=6 v=g", cells: "c1:int id:int"},
		{name: "filtered.csv", text: ",id,v\n7,a,a\n9,c,b\n", doubt: "header", says: "header: yes gives 2 rows, header: no gives 3"},
		{name: "words.csv", text: "name,city\nAnn,Paris\nBob,\n", doubt: "header", says: "header: yes gives 2 rows, header: no gives 3"},
		{name: "names only.csv", text: "id,v\n", doubt: "header", says: "header: yes gives 0 rows, header: no gives 1"},
		{name: "null word.csv", text: "id,v\n1,NULL\n2,\n3,x\n", doubt: "null_value"},
		{name: "together.csv", text: "id,v\n1,a\n2,c\nid,v\n3,b\n", doubt: "inputs", says: "the header is repeated"},
		{name: "together.txt", text: "id,v\n1,a\n2,c\n3,a\n4,c\nid,v\n5,b\n6,b\n7,b\n8,b\n9,b\n", doubt: "inputs", says: "the header is repeated"},
		{name: "marks.csv", text: "\ufeffid,v\n1,a\n2,c\n\ufeffid,v\n3,b\n", doubt: "inputs", says: "a byte order mark before a record"},
		{name: "mark.csv", text: "id,v\n1,a\n\ufeff2,c\n3,b\n", doubt: "inputs", says: "a byte order mark before a record"},
		{name: "title.csv", text: "title line\nid,a\n1,x\n2,y\n3,x\n4,y\n5,x\n6,y\n7,x\n8,y\n",
			rows: "a=x id=1|a=y id=2|a=x id=3|a=y id=4|a=x id=5|a=y id=6|a=x id=7|a=y id=8", cells: "id:int"},
		{name: "title of pandas.txt", text: "title\n\n,a\n0,x\n1,y\n2,x\n3,y\n4,x\n5,y\n6,x\n7,y\n8,x\n",
			rows: "a=x c1=0|a=y c1=1|a=x c1=2|a=y c1=3|a=x c1=4|a=y c1=5|a=x c1=6|a=y c1=7|a=x c1=8", cells: "c1:int"},
		{name: "x.jsonl", text: `{"id":1,"a.b":"x","c":{"d":2}}` + "\n" + `{"id":2,"e":null}` + "\n", rows: "a.b=x c.d=2 id=1|id=2", cells: "id:int c.d:int"},
	} {
		t.Run(f.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), f.name)
			if err := os.WriteFile(path, []byte(f.text), 0o600); err != nil {
				t.Fatal(err)
			}
			r := look(t, path, spec.Spec{}, inspect.Options{})
			job := r.Job()
			if f.doubt != "" {
				if job != nil || len(r.Doubts) != 1 || strings.Join(r.Doubts[0].About, " ") != f.doubt || !strings.Contains(r.Doubts[0].Text, f.says) {
					t.Fatalf("doubts %+v\n%s", r.Doubts, job)
				}
				if f.doubt == "header" && len(r.Doubts[0].Readings) > 0 {
					t.Errorf("it lists %+v", r.Doubts[0].Readings)
				}
				return
			}
			if job == nil {
				t.Fatalf("no job file: %+v", r.Doubts)
			}
			rows, err := readJob(t, job, nil)
			if err != nil {
				t.Fatalf("%v\n%s", err, job)
			}
			if got := rowTexts(rows); got != f.rows {
				t.Errorf("%s, want %s\n%s", got, f.rows, job)
			}
			s, err := spec.ParseSpec("job.yaml", job)
			if err != nil {
				t.Fatal(err)
			}
			var cells []string
			for _, c := range s.Cells {
				if !c.Rest {
					cells = append(cells, c.Column+":"+c.Type)
				}
			}
			if got := strings.Join(cells, " "); got != f.cells {
				t.Errorf("cells %s, want %s", got, f.cells)
			}
			builds(t, r, job)
		})
	}
}

// TestLinesOfWindows checks text whose records end with CR LF, with any separator: as CSV, and with escapes that only Spark writes. A sample gives the
// same job file as the whole.
func TestLinesOfWindows(t *testing.T) {
	for _, name := range []string{"x.csv", "x.txt"} {
		for _, sep := range []string{",", ";", "|", "\t", "~", "@|@"} {
			for _, value := range []string{"x", `"a \"b\" c"`} {
				var text strings.Builder
				text.WriteString("id" + sep + "v\r\n")
				for i := range 1_000 {
					fmt.Fprintf(&text, "%d%s%s\r\n", i, sep, value)
				}
				path := filepath.Join(t.TempDir(), name)
				testcheck.Must(t, os.WriteFile(path, []byte(text.String()), 0o600))
				for _, sample := range []int64{0, 4 << 10} {
					r := look(t, path, spec.Spec{}, inspect.Options{Sample: sample})
					rows, err := readJob(t, r.Job(), nil)
					if err != nil || len(rows) != 1_000 || rows[7]["id"] != "7" || rows[7]["v"] != strings.NewReplacer(`\"`, `"`, `"a`, "a", `c"`, "c").Replace(value) {
						t.Errorf("%s with %q, %s, sample %d: %d rows, %v, %+v\n%s", name, sep, value, sample, len(rows), err, r.Doubts, r.Job())
					}
				}
			}
		}
	}
}

func rowTexts(rows []map[string]any) string {
	var all []string
	for _, row := range rows {
		var values []string
		for name, v := range row {
			if v != nil {
				values = append(values, fmt.Sprintf("%s=%s", name, v))
			}
		}
		slices.Sort(values)
		all = append(all, strings.Join(values, " "))
	}
	return strings.Join(all, "|")
}

// TestHeaderIsAnswered checks that the setting that a doubt about the header asks for decides, and gives a job file that builds.
func TestHeaderIsAnswered(t *testing.T) {
	for _, text := range []string{"name,city\nAnn,Paris\nBob,\n", ",a,b\n7,x,a\n9,y,b\n", "a,b\nc,d\na,b\n"} {
		path := filepath.Join(t.TempDir(), "x.csv")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		for header, rows := range map[string]int64{"yes": 2, "no": 3} {
			s := spec.Spec{}
			s.Header = header
			r := look(t, path, s, inspect.Options{})
			again := header == "yes" && strings.HasPrefix(text, "a,b")
			if again != (len(r.Doubts) == 1 && r.Doubts[0].About[0] == "inputs") || again != (r.Job() == nil) || r.Sample.Rows != rows {
				t.Errorf("%q with header %s: %d rows, %+v", text, header, r.Sample.Rows, r.Doubts)
			}
			if !again {
				builds(t, r, r.Job())
			}
		}
	}
}

// TestJobOfTheWholeInput checks that the job file of an input that the sample is all of does not speak of a rest.
func TestJobOfTheWholeInput(t *testing.T) {
	name := filepath.Join(t.TempDir(), "x.csv")
	testcheck.Must(t, os.WriteFile(name, []byte("id,v\n1,a\n2,b\n"), 0o600))
	r := look(t, name, spec.Spec{}, inspect.Options{})
	if job := string(r.Job()); !r.Sample.Whole || !strings.Contains(job, "# The row key. Distinct values were counted in all 2 rows.\n") {
		t.Errorf("whole %t:\n%s", r.Sample.Whole, job)
	}
}

// TestBadRecordsOfAGivenDialect checks that the doubt about a file with too many bad records for a dialect that is given names the setting that
// allows them.
func TestBadRecordsOfAGivenDialect(t *testing.T) {
	name := filepath.Join(t.TempDir(), "x.csv")
	testcheck.Must(t, os.WriteFile(name, []byte("id,v\n1,a\n2\n"), 0o600))
	for given, want := range map[string][]string{"": {"dialect"}, "csv": {"bad_records", "dialect"}} {
		s := spec.Spec{}
		s.Dialect = given
		r := look(t, name, s, inspect.Options{})
		if len(r.Doubts) != 1 || !slices.Equal(r.Doubts[0].About, want) {
			t.Errorf("with dialect %q: %+v, want one about %q", given, r.Doubts, want)
		}
	}
}

// TestNumberOfABadRecord checks that a doubt about a bad record counts as a job does, which reads CSV with a header if no header is given, also where
// the records before it do not decide whether there is one.
func TestNumberOfABadRecord(t *testing.T) {
	for _, c := range []struct {
		text, dialect, header string
		want                  int64
	}{
		{"id,val\n1\n2,b\n", "", "", 1},
		{"id,val\n1\n2,b\n", "csv", "", 1},
		{"id,val\n1\n2,b\n", "csv", "no", 2},
		{"id,val\n1\n2,b\n", "opencsv", "", 2},
		{"name,val\nx,a\ny,b,c\n", "", "", 2},
		{"name,val\nx,a\ny,b,c\n", "csv", "yes", 2},
	} {
		name := filepath.Join(t.TempDir(), "x.csv")
		testcheck.Must(t, os.WriteFile(name, []byte(c.text), 0o600))
		var s spec.Spec
		s.Dialect, s.Header = c.dialect, c.header
		r := look(t, name, s, inspect.Options{})
		if len(r.Doubts) != 1 || r.Doubts[0].Place == nil || r.Doubts[0].Place.Record != c.want {
			t.Errorf("%+v: %+v", c, r.Doubts)
		}
	}
}
