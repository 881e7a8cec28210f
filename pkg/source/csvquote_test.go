package source

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// judged reads a CSV text with a budget, in several sizes of splits, which must have the same result.
func judged(t *testing.T, text, spec string, o Options) (rows [][]string, b *Budget, in *Input, err error) {
	t.Helper()
	first := ""
	for _, size := range []int64{int64(len(text)) + 1, 64, 7} {
		o := o
		if b, err = NewBudget(spec); err != nil {
			t.Fatal(err)
		}
		o.SplitSize, o.ChunkSize, o.Reject = size, 16, b.RejectRead
		if in, err = Open(t.Context(), func(name string) (FS, string, error) { return &memFile{name, []byte(text)}, name, nil }, []string{"/x.csv"}, o); err != nil {
			return nil, b, nil, err
		}
		var got []record
		if got, err = readAll(t.Context(), in); err == nil {
			err = b.Finish(in.Records())
		}
		rows = values(got)
		outcome := fmt.Sprint(rows, b.Bad(), b.Extra(), err)
		if err == nil {
			outcome += fmt.Sprint(in.Records())
		}
		if first == "" {
			first = outcome
		} else if outcome != first {
			t.Fatalf("splits of %d: %s, in one piece %s", size, outcome, first)
		}
	}
	return rows, b, in, err
}

// TestUnclosedQuoteIsFatal checks that a quote that is never closed is an error with any budget: the rest of the file
// is within it.
func TestUnclosedQuoteIsFatal(t *testing.T) {
	many := "id,v\n" + strings.Repeat("1,a\n", 9) + "2,\"b\n" + strings.Repeat("3,c\n", 1000)
	for name, text := range map[string]string{"many": many, "last": "id,v\n1,2\n3,\"4", "doubled": "id,v\n1,\"\"\"\n", "first": "id,v\n\"1,2\n3,4\n"} {
		for _, spec := range []string{"", "1", "1000000", "100%"} {
			_, b, _, err := judged(t, text, spec, Options{})
			row, ok := errors.AsType[*RowError](err)
			if !ok || errors.Is(err, ErrBudget) || !strings.Contains(err.Error(), "a quote is opened and not closed") || b.Bad() != 0 {
				t.Errorf("%s, --bad-records %s: %d bad, %v", name, spec, b.Bad(), err)
			} else if name == "many" && (row.Record != 10 || row.Column != "v" || row.Offset != 41) {
				t.Errorf("%s: %+v", name, row)
			}
		}
	}
	// A quoted record that exceeds the greatest length is also an error: its end is unknown.
	_, b, _, err := judged(t, many, "100%", Options{MaxRecord: 512})
	if err == nil || errors.Is(err, ErrBudget) || !strings.Contains(err.Error(), "longer than 512 bytes: most likely a quote is not closed") || b.Bad() != 0 {
		t.Errorf("too long: %d bad, %v", b.Bad(), err)
	}
}

// TestBadRecordIsChargedByItsLines checks that a bad record counts as many bad records as it has lines, if its quotes
// close in another record.
func TestBadRecordIsChargedByItsLines(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		rows       int
		lines      int64
	}{
		{"text after the closing quote", "id,v\n1,\"a\n2,b\n3,c\n4,\"d\"\n5,e\n", 1, 4},
		{"another number of columns", "id,v\n1,a\n2,\"b\n3,c\n4,\",d\n5,e\n", 2, 3},
		{"CR LF", "id,v\r\n1,a\r\n2,\"b\r\n3,c\r\n4,\",d\r\n5,e\r\n", 2, 3},
		{"blank lines around", "id,v\n\n1,a\n\n2,b,c\n\n\n5,e\n", 2, 1},
		{"one line", "id,v\n1,a\n2,b\"\n5,e\n", 2, 1},
		{"the last", "id,v\n1,a\n2,\"b\n3,c\n4,\",d", 1, 3},
	} {
		rows, b, in, err := judged(t, tt.text, fmt.Sprint(tt.lines), Options{})
		if err != nil || len(rows) != tt.rows || b.Bad() != tt.lines || in.Records()+b.Extra()-b.Bad() != int64(tt.rows) {
			t.Errorf("%s: %d rows, %d bad, %d records and %d more, %v", tt.name, len(rows), b.Bad(), in.Records(), b.Extra(), err)
		}
		_, _, _, err = judged(t, tt.text, fmt.Sprint(tt.lines-1), Options{})
		if !errors.Is(err, ErrBudget) {
			t.Errorf("%s: one less is allowed: %v", tt.name, err)
		}
		if lines := fmt.Sprintf("spans %d lines", tt.lines); tt.lines > 1 && !strings.Contains(err.Error(), lines) {
			t.Errorf("%s: error %v", tt.name, err)
		}
		b.Reset()
		if b.Bad() != 0 || b.Extra() != 0 {
			t.Errorf("%s: after Reset %d, %d", tt.name, b.Bad(), b.Extra())
		}
	}
}

// TestLineEndsOfCROnlyAreRefused checks that texts whose lines end with CR only are rejected.
func TestLineEndsOfCROnlyAreRefused(t *testing.T) {
	given := Options{Header: HeaderNone, Columns: []string{"a", "b"}}
	one := Options{Header: HeaderNone, Columns: []string{"a"}}
	for name, tt := range map[string]struct {
		text string
		o    Options
	}{
		"with a header":       {"id,v\r1,2\r3,4\r", Options{}},
		"quoted":              {"\"id\",\"v\"\r\"1\",\"2\n3\"\r", Options{}},
		"behind a mark":       {"\ufeffid,v\r1,2\r", Options{}},
		"one column":          {"id\r1\r2\r", Options{}},
		"without a header":    {"1,2\r3,4\r", given},
		"of one column":       {"1\r2\r3", one},
		"behind the header":   {"id,v\n1,2\r3,4\r", Options{}},
		"LF in quotes only":   {"1,\"2\n\"\r3,4\r", given},
		"a long file":         {"id,v\r" + strings.Repeat("1,2\r", 40000), Options{}},
		"a long file, no end": {strings.Repeat("1,2\r", 40000), given},
	} {
		_, _, _, err := judged(t, tt.text, "100%", tt.o)
		if err == nil || !strings.Contains(err.Error(), "line ends are CR only") || !strings.Contains(err.Error(), "/x.csv") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, tt := range map[string]struct {
		text string
		o    Options
		rows int
	}{
		"a CR in a field":          {"a,b\n1\r1,2\n", Options{}, 1},
		"a CR in quotes":           {"a,b\n\"1\r1\",2", Options{}, 1},
		"a CR at the end":          {"a,b\n1,2\r", Options{}, 1},
		"only a header and a CR":   {"a,b\r", Options{}, 0},
		"a record and a CR":        {"1,2\r", given, 1},
		"CR LF":                    {"1,2\r\n3,4\r\n", given, 2},
		"a CR LF of one record":    {"1,2\r\n", given, 1},
		"a long record, then a LF": {"1," + strings.Repeat("x\r", 50000) + "\n3,4\n", given, 2},
	} {
		rows, _, _, err := judged(t, tt.text, "", tt.o)
		if err != nil || len(rows) != tt.rows {
			t.Errorf("%s: %d rows, %v", name, len(rows), err)
		}
	}
}

// utf16Text returns a text in UTF-16.
func utf16Text(s string, little bool) string {
	var b strings.Builder
	for _, r := range s {
		if little {
			b.Write([]byte{byte(r), byte(r >> 8)})
		} else {
			b.Write([]byte{byte(r >> 8), byte(r)})
		}
	}
	return b.String()
}

// TestTextThatIsNoUTF8HeaderIsRefused checks that invalid headers are rejected.
func TestTextThatIsNoUTF8HeaderIsRefused(t *testing.T) {
	given := Options{Header: HeaderNone, Columns: []string{"a", "b"}}
	for name, tt := range map[string]struct {
		text string
		o    Options
		want string
	}{
		"UTF-16 little":           {"\xff\xfe" + utf16Text("id,v\n1,2\n", true), Options{}, "UTF-16"},
		"UTF-16 big":              {"\xfe\xff" + utf16Text("id,v\n1,2\n", false), Options{}, "UTF-16"},
		"without a mark":          {utf16Text("id,v\n1,2\n", true), Options{}, "UTF-16"},
		"big without a mark":      {utf16Text("id,v\n1,2\n", false), Options{}, "UTF-16"},
		"without a header":        {utf16Text("11,22\n33,44\n", true), given, "UTF-16"},
		"NUL in a name":           {"id,v\x00x\n1,2\n", Options{}, "NUL"},
		"a name too long":         {"id," + strings.Repeat("v", 5000) + "\n1,2\n", Options{}, "column 2 has a name of 5000 bytes"},
		"nothing but one line":    {strings.Repeat("1,2 ", 40000), Options{}, "header: column"},
		"of another kind, forced": {"\xff\xfe" + utf16Text("id,v\n1,2\n", true), Options{Format: FormatCSV}, "UTF-16"},
	} {
		_, _, _, err := judged(t, tt.text, "100%", tt.o)
		if err == nil || !strings.Contains(err.Error(), tt.want) || len(err.Error()) > 1000 {
			t.Errorf("%s: %.1000v", name, err)
		}
	}
}
