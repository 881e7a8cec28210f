package inspect_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/internal/jobs/inspect"
	"bulkload/internal/model/spec"
	"bulkload/internal/test/testcheck"
)

// rowsBelow returns a header and n records of a number, a text with a word and a decimal.
func rowsBelow(header string, n int) string {
	var b strings.Builder
	b.WriteString(header + "\n")
	for i := range n {
		fmt.Fprintf(&b, "%d,w%d,%d.25\n", i, i, i)
	}
	return b.String()
}

// inspected inspects a text as a file with a name.
func inspected(t *testing.T, name, text string, s spec.Spec) *inspect.Report {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	testcheck.Must(t, os.WriteFile(path, []byte(text), 0o600))
	return look(t, path, s, inspect.Options{})
}

// asked returns the settings of a job file.
func asked(t *testing.T, fields string) spec.Spec {
	t.Helper()
	s, err := spec.ParseSpec("job.yaml", []byte(fields))
	testcheck.Must(t, err)
	return *s
}

// TestHeadersThatCannotBeNames checks that a first record which the numbers below it show to be a header is no record because a job refuses its names:
// that is a doubt, which says why. Names that a job takes make a header, however long they are.
func TestHeadersThatCannotBeNames(t *testing.T) {
	long := strings.Repeat("x", 200)
	for _, c := range []struct{ header, doubt string }{
		{"id,what,what", "columns 2 and 3 have the same name"},
		{"id,amount,id", "columns 1 and 3 have the same name"},
		{"id,,amount", "column 2 has no name"},
		{"id,amount,", "column 3 has no name"},
		{"id,what," + strings.Repeat("x", 5000), "column 3 has a name of 5000 bytes"},
		{"id,what,amount", ""},
		{"id,what," + long, ""},
		{"id,what,\"am\nount\"", ""},
		{long + ",what,amount", ""},
	} {
		r := inspected(t, "x.csv", rowsBelow(c.header, 100), spec.Spec{})
		if c.doubt == "" {
			rows, err := readJob(t, r.Job(), nil)
			if err != nil || len(rows) != 100 || r.Doubtful() {
				t.Errorf("%.40q: %d rows, %v, %+v", c.header, len(rows), err, r.Doubts)
			}
			continue
		}
		if len(r.Doubts) != 1 || strings.Join(r.Doubts[0].About, " ") != "header" || !strings.Contains(r.Doubts[0].Text, c.doubt) || r.Job() != nil {
			t.Errorf("%.40q: doubts %+v", c.header, r.Doubts)
		}
		s := spec.Spec{Columns: []string{"a", "b", "c"}}
		s.Header, s.SkipLines = "no", 1
		r = inspected(t, "x.csv", rowsBelow(c.header, 100), s)
		if rows, err := readJob(t, r.Job(), nil); err != nil || len(rows) != 100 || rows[7]["c"] != "7.25" {
			t.Errorf("%.40q with names: %d rows, %v, %+v", c.header, len(rows), err, r.Doubts)
		}
	}
	for _, text := range []string{"a,a,b\nc,d,e\n", "x,,y\na,b,c\n", "1,,2\n3,4,5\n"} { // nothing shows a header
		if r := inspected(t, "x.csv", text, spec.Spec{}); r.Doubtful() || r.Sample.Rows != 2 {
			t.Errorf("%q: %d rows, %+v", text, r.Sample.Rows, r.Doubts)
		}
	}
}

// TestLinesThatEndWithCR checks that text whose lines end with CR only is refused as by a job, whatever is given, and that other CRs are data.
func TestLinesThatEndWithCR(t *testing.T) {
	var many, ragged strings.Builder
	for i := range 999 {
		fmt.Fprintf(&many, "%d,a%d\r", i, i)
		fmt.Fprintf(&ragged, "%d,\"a%d,%d\r", i, i, i)
	}
	header := func(text string) spec.Spec { return asked(t, "header: '"+text+"'") }
	mysql, skip := asked(t, "dialect: mysql-csv"), asked(t, "skip_lines: 1")
	for _, c := range []struct {
		name, text string
		s          spec.Spec
		refused    bool
	}{
		{"x.csv", many.String(), spec.Spec{}, true},
		{"x.csv", many.String(), header("no"), true},
		{"x.csv", many.String(), header("yes"), true},
		{"x.csv", many.String(), mysql, true},
		{"x.csv", many.String(), skip, true},
		{"x.txt", strings.ReplaceAll(many.String(), ",", "\t"), spec.Spec{}, true},
		{"x.txt", strings.ReplaceAll(many.String(), ",", ""), header("no"), true},
		{"x.csv", ragged.String(), spec.Spec{}, true},
		{"x.csv", "id,a\n" + many.String(), header("yes"), true},
		{"x.csv", "id\n1\r2\r3\r", header("yes"), true},
		{"x.csv", "1,\"a\rb\",3", header("no"), false},
		{"x.csv", "1,2\r", header("no"), false},
		{"x.csv", "1,2\r\n3,4\r\n", header("no"), false},
		{"x.txt", "1\x01a\rb\x102\x01c\rd\x10", spec.Spec{}, false},
		{"x.csv", "", spec.Spec{}, false},
	} {
		r := inspected(t, c.name, c.text, c.s)
		is := len(r.Refused) == 1 && strings.Contains(r.Refused[0].Reason, "line ends are CR only") && !r.Doubtful() && r.Job() == nil
		if is != c.refused || !c.refused && len(r.Refused) > 0 && c.text != "" {
			t.Errorf("%s %.20q, header %q: refused %+v, doubts %+v", c.name, c.text, c.s.Header, r.Refused, r.Doubts)
		}
	}
}

// TestBadRecords checks that a record that does not fit is named as a job names it, and that a given dialect, or bad records that are allowed, leave it
// out: a note describes it, and the job file reads the others.
func TestBadRecords(t *testing.T) {
	lines := strings.SplitAfter(rowsBelow("id,what,amount", 900), "\n")
	lines[501] = "500,short\n"
	text := strings.Join(lines, "")
	at := int64(strings.Index(text, "500,short"))
	r := inspected(t, "x.csv", text, spec.Spec{})
	if len(r.Doubts) != 1 || r.Doubts[0].Place == nil || r.Doubts[0].Place.Byte != at || r.Doubts[0].Place.Record != 501 {
		t.Errorf("without settings: %+v", r.Doubts)
	}
	quote := strings.Replace(text, "500,short\n", "500,\"a\"b,3.5\n", 1)
	for _, c := range []struct{ fields, text, why string }{
		{"dialect: csv", text, "2 columns found, 3 expected"},
		{"{dialect: postgres-csv, header: 'yes'}", text, "2 columns found, 3 expected"},
		{"bad_records: 1", text, "2 columns found, 3 expected"},
		{"bad_records: 1%", text, "2 columns found, 3 expected"},
		{"{bad_records: 1, dialect: pandas}", text, "2 columns found, 3 expected"},
		{`{dialect: postgres-csv, quote: '"', quotes: strict}`, quote, "text after a closing quote"},
	} {
		s := asked(t, c.fields)
		r := inspected(t, "x.csv", c.text, s)
		note := fmt.Sprintf("1 bad record among 901, which a job sets aside up to bad_records: the first is record 501 of %s, at byte ", r.Files[0].Path)
		if !strings.Contains(strings.Join(r.Notes, "\n"), note) || !strings.Contains(strings.Join(r.Notes, "\n"), c.why) || r.Job() == nil {
			t.Errorf("%s: doubts %+v, notes %q", c.fields, r.Doubts, r.Notes)
			continue
		}
		job := string(r.Job())
		if s.BadRecords == "" {
			job += "bad_records: 1\n"
		}
		if rows, err := readJob(t, []byte(job), nil); err != nil || len(rows) != 899 || rows[899-1]["amount"] != "899.25" {
			t.Errorf("%s: %d rows, %v", c.fields, len(rows), err)
		}
	}
	short := strings.Join(append(lines[:3:3], lines[501], lines[501], lines[501], lines[501]), "")
	if r := inspected(t, "x.csv", short, asked(t, "dialect: csv")); !r.Doubtful() {
		t.Errorf("most records are bad: notes %q", r.Notes)
	}
	some := strings.ReplaceAll(text, "5.25\n", "5\n5\n5\n") // a sixth of the lines
	if r := inspected(t, "x.csv", some, asked(t, "dialect: csv")); !r.Doubtful() {
		t.Errorf("many records are bad: notes %q", r.Notes)
	}
	if r := inspected(t, "x.csv", some, asked(t, "{bad_records: 20%, header: 'yes'}")); r.Job() == nil {
		t.Errorf("many bad records that are allowed: %+v", r.Doubts)
	}
	if r := inspected(t, "x.csv", strings.Replace(text, "7,w7,7.25", "7,w7", 1), asked(t, "bad_records: 1")); !r.Doubtful() {
		t.Errorf("more bad records than allowed: notes %q", r.Notes)
	}
	again := strings.Replace(text, "800,w800,800.25\n", "id,what,amount\n", 1)
	r = inspected(t, "x.csv", again, asked(t, "dialect: csv"))
	if at := int64(strings.LastIndex(again, "id,")); len(r.Doubts) != 1 || r.Doubts[0].Place == nil || r.Doubts[0].Place.Byte != at || r.Doubts[0].Place.Record != 801 {
		t.Errorf("a place after a bad record: %+v, want byte %d", r.Doubts, at)
	}
}

// TestBadRecordsThatDiffer checks that bad records are left out only if the ways of cutting agree on which ones are bad, and that the job file leaves out
// those that the note counts.
func TestBadRecordsThatDiffer(t *testing.T) {
	var b strings.Builder
	b.WriteString("id,what,amount\n")
	for i := range 100 {
		switch i {
		case 41:
			b.WriteString("41,5\" pipe,41.5\n") // bad with quotes
		case 60:
			b.WriteString("60,\"a,b\",60.5\n") // bad without
		default:
			fmt.Fprintf(&b, "%d,\"w %d\",%d.5\n", i, i, i)
		}
	}
	if r := inspected(t, "x.csv", b.String(), asked(t, "bad_records: 5%")); !r.Doubtful() || r.Job() != nil {
		t.Errorf("with and without quotes: notes %q\n%s", r.Notes, r.Job())
	}
	for fields, bad := range map[string]string{"{dialect: csv, bad_records: 5%}": `5" pipe`, "{quote: none, bad_records: 5%}": `"a,b"`} {
		r := inspected(t, "x.csv", b.String(), asked(t, fields))
		if rows, err := readJob(t, r.Job(), nil); err != nil || len(rows) != 99 || strings.Contains(rowTexts(rows), bad) {
			t.Errorf("%s: %d rows, %v, doubts %+v", fields, len(rows), err, r.Doubts)
		}
	}
	lines := strings.SplitAfter(rowsBelow("id,what,amount", 100), "\n")
	lines[41], lines[61] = "40,short\n", "60,C:\\,60.5\n"
	r := inspected(t, "x.csv", strings.Join(lines, ""), asked(t, "{dialect: mysql-csv, bad_records: 5, header: 'yes'}"))
	if rows, err := readJob(t, r.Job(), nil); err != nil || len(rows) != 98 || !strings.Contains(strings.Join(r.Notes, "\n"), "2 bad records among 101") {
		t.Errorf("an escape in a bad record: %d rows, %v, notes %q", len(rows), err, r.Notes)
	}
}

// TestMixedLineEnds checks that a given end of records decides whether a CR before LF is data, as in a job.
func TestMixedLineEnds(t *testing.T) {
	const mixed = "id,a\n1,x\r\n2,y\n3,z\r\n"
	const plain, cr = "a=x id=1|a=y id=2|a=z id=3", "a=x\r id=1|a=y id=2|a=z\r id=3"
	r := inspected(t, "x.csv", mixed, spec.Spec{})
	if len(r.Doubts) != 1 || strings.Join(r.Doubts[0].About, " ") != "record_sep" {
		t.Errorf("without settings: %+v", r.Doubts)
	}
	for _, c := range []struct{ fields, text, want string }{
		{`record_sep: '\r\n'`, mixed, plain},
		{`record_sep: '\n'`, mixed, cr},
		{"dialect: postgres-csv", mixed, plain},
		{"dialect: excel", mixed, plain},
		{"dialect: csv", mixed, plain},
		{`{format: csv, record_sep: '\r\n'}`, mixed, plain},
		{`{record_sep: '\r\n', header: 'no'}`, "1,x\r\n", "c1=1 c2=x"},
		{`{record_sep: '\n', header: 'no'}`, "1,x\r\n", "c1=1 c2=x\r"},
	} {
		r := inspected(t, "x.csv", c.text, asked(t, c.fields))
		if r.Doubtful() || len(r.Refused) > 0 {
			t.Errorf("%s: %+v, %+v", c.fields, r.Doubts, r.Refused)
			continue
		}
		if rows, err := readJob(t, r.Job(), nil); err != nil || rowTexts(rows) != c.want {
			t.Errorf("%s: %q, want %q, %v\n%s", c.fields, rowTexts(rows), c.want, err, r.Job())
		}
	}
}

// TestInputsWithoutRecords checks that an input with nothing to load is refused with its name and the reason, unless the job allows it.
func TestInputsWithoutRecords(t *testing.T) {
	const none = "the input has no records"
	for _, c := range []struct{ name, text, fields, want string }{
		{"x.csv", "", "", "x.csv: it is an empty file"},
		{"x.csv", "\n\r\n", "", none},
		{"x.csv", "\ufeff", "", none},
		{"x.csv.gz", packed(t, ""), "", none},
		{"x.csv.gz", packed(t, ""), "dialect: csv", none},
		{"x.csv", "id,a\n", "header: 'yes'", none},
	} {
		r := inspected(t, c.name, c.text, asked(t, "{table: t, "+c.fields+"}"))
		if len(r.Refused) != 1 || !strings.Contains(r.Refused[0].Reason, c.want) || r.Doubtful() || r.Job() != nil {
			t.Errorf("%s %q: refused %+v, doubts %+v", c.name, c.text, r.Refused, r.Doubts)
		}
		if r := inspected(t, c.name, c.text, asked(t, "{allow_empty: true, "+c.fields+"}")); len(r.Refused) > 0 || r.Doubtful() {
			t.Errorf("%s %q, which is allowed: refused %+v, doubts %+v", c.name, c.text, r.Refused, r.Doubts)
		}
	}
}
