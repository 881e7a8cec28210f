package dialect

import (
	"errors"
	"strings"
	"testing"
)

func TestParsePosition(t *testing.T) {
	for text, want := range map[string]Position{
		"id=1-10": {Name: "id", From: 1, To: 10}, "flag=5": {Name: "flag", From: 5, To: 5}, "rest=20-": {Name: "rest", From: 20},
		"a=b=3-4": {Name: "a=b", From: 3, To: 4}, "n=11-15:packed(2)": {Name: "n", From: 11, To: 15, Kind: Packed, Scale: 2}, "n=1-3:zoned": {Name: "n", From: 1, To: 3, Kind: Zoned},
	} {
		p, err := ParsePosition(text)
		if p != want || err != nil {
			t.Errorf("%s: %+v, %v", text, p, err)
		}
		if p.String() != text {
			t.Errorf("%s is written as %s", text, p)
		}
	}
	if p, err := ParsePosition(" id = 1 - 10 "); err != nil || p.String() != "id=1-10" {
		t.Errorf("with blanks: %v, %v", p, err)
	}
	for text, says := range map[string]string{
		"id": "not a column position", "=1-2": "not a column position", "id=0-3": "not a column position", "id=4-3": "not a column position", "id=x": "not a column position",
		"id=1-9999999": "not a column position", "n=1-3:binary": "packed or zoned", "n=1-3:packed(x)": "digits up to 64", "n=1-3:packed(65)": "digits up to 64", "n=1-3:packed(2": "digits up to 64",
	} {
		if _, err := ParsePosition(text); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %s", text, err, says)
		}
	}
}

// TestFixedColumns checks that the error for an invalid setting of fixed columns names the setting.
func TestFixedColumns(t *testing.T) {
	id, rest := Position{Name: "id", From: 1, To: 4}, Position{Name: "rest", From: 5}
	number := Position{Name: "n", From: 5, To: 8, Kind: Packed}
	wide := Position{Name: "n", From: 1, To: MostNumber + 1, Kind: Zoned}
	for what, c := range map[string]struct {
		change func(*Dialect)
		field  string // the invalid setting; empty: none
		length int
		least  bool
	}{
		"one column":          {func(*Dialect) {}, "", 4, false},
		"the rest of a line":  {func(d *Dialect) { d.Positions = append(d.Positions, rest) }, "", 4, true},
		"a longer record":     {func(d *Dialect) { d.RecordLength = 80 }, "", 80, false},
		"a packed number":     {func(d *Dialect) { d.Positions, d.Unseparated = append(d.Positions, number), true }, "", 8, false},
		"no column":           {func(d *Dialect) { d.Positions = nil }, "positions", 0, false},
		"a column twice":      {func(d *Dialect) { d.Positions = append(d.Positions, id) }, "positions", 4, false},
		"a place before 1":    {func(d *Dialect) { d.Positions[0].From = 0 }, "positions", 4, false},
		"a wide number":       {func(d *Dialect) { d.Positions = []Position{wide} }, "positions", MostNumber + 1, false},
		"a number at its end": {func(d *Dialect) { d.Positions = append(d.Positions, number) }, "record_sep", 8, false},
		"after the record":    {func(d *Dialect) { d.RecordLength = 3 }, "positions", 3, false},
		"rest and length":     {func(d *Dialect) { d.Positions, d.RecordLength = append(d.Positions, rest), 9 }, "record_length", 9, true},
		"rest without an end": {func(d *Dialect) { d.Positions, d.Unseparated = append(d.Positions, rest), true }, "record_sep", 4, true},
		"a long record":       {func(d *Dialect) { d.RecordLength = maxLength + 1 }, "record_length", maxLength + 1, false},
		"a long separator":    {func(d *Dialect) { d.RecordSep = strings.Repeat("x", maxSep+1) }, "record_sep", 4, false},
		"lines below 0":       {func(d *Dialect) { d.SkipLines = -1 }, "skip_lines", 4, false},
		"last lines below 0":  {func(d *Dialect) { d.SkipEnd = -1 }, "skip_end", 4, false},
		"lines without LF":    {func(d *Dialect) { d.SkipEnd, d.Unseparated = 1, true }, "skip_lines", 4, false},
		"quotes":              {func(d *Dialect) { d.Quote = `"` }, "dialect", 4, false},
	} {
		d, err := Preset(Fixed)
		if err != nil {
			t.Fatal(err)
		}
		d.Positions = []Position{id}
		c.change(&d)
		if !d.Fixed() || (*Dialect)(nil).Fixed() {
			t.Fatalf("%s: it is not of fixed columns", what)
		}
		if n, least := d.Length(); n != c.length || least != c.least {
			t.Errorf("%s: %d bytes, at least: %t", what, n, least)
		}
		err = d.Check()
		field := ""
		if e, ok := errors.AsType[*FieldError](err); ok {
			field = e.Field
			if !errors.Is(err, e.Err) || !strings.HasPrefix(e.Error(), field+": ") {
				t.Errorf("%s: %v", what, e)
			}
		}
		if field != c.field || (err != nil) != (field != "") {
			t.Errorf("%s: %v, want an error of %q", what, err, c.field)
		}
	}
}

// TestDialectsAreCompared checks that dialects are compared by their settings, not by their names.
func TestDialectsAreCompared(t *testing.T) {
	texts := map[string]string{} // the texts of different dialects
	for _, name := range Separated() {
		d, err := Preset(name)
		if err != nil {
			t.Fatal(err)
		}
		other := d
		other.Name = "other"
		if !d.Equal(other) {
			t.Errorf("%s is not equal to itself by another name", name)
		}
		other.Lenient = !d.Lenient
		if d.Equal(other) || d.String() == other.String() {
			t.Errorf("%s is equal to one that differs: %s", name, d)
		}
		if was, ok := texts[d.String()]; ok {
			if p, _ := Preset(was); !p.Equal(d) {
				t.Errorf("%s and %s have one text: %s", was, name, d)
			}
		}
		texts[d.String()] = name
		if r := d.Records(); r.Header != HeaderNo || r.SkipLines != 0 || r.SkipEnd != 0 || r.Comment != "" {
			t.Errorf("records of %s: %s", name, r)
		}
		rfc := map[string]bool{CSV: true, Excel: true, PostgresCSV: true, Oracle: true, Pandas: false, JQText: false, Dump: false, Hive: false, MySQLTSV: false}
		if want, ok := rfc[name]; ok && d.RFC4180() != want {
			t.Errorf("%s is RFC 4180: %t", name, d.RFC4180())
		}
	}
}
