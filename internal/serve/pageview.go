package serve

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"

	"bulkload/internal/serve/query"
	"bulkload/internal/serve/rowjson"
	"bulkload/pkg/keygen/rowkey"
	"bulkload/pkg/loader"
)

type searchPage struct {
	At      string // name of the page
	Jobs    []string
	Job     string
	Table   string
	Key     string
	Fields  []pageField // fields of a query key
	Bounds  []pageField // bounds of a range
	Range   string      // columns of the range; empty: the key has no ranges
	Scan    bool        // the query is a range
	By      string      // the selected index
	Indexes []pageIndex
	Limit   string
	Asked   bool // a query was sent; its rows are below
	Names   []string
	Rows    []pageRow
	Next    string
	JSON    string
	Where   *pageWhere
	Error   *Problem
	Times   []pageField
	MaxRow  int
}

type pageIndex struct {
	Name   string
	Fields []pageField
}

type pageField struct{ Name, Value string }

type pageRow struct {
	Key    string
	Values []pageValue
}

type pageValue struct {
	Text string
	Null bool
	Raw  bool // base64
	Word bool // a number, a time or a short word, which is shown on one line
}

// wordLength is the length in characters up to which a value without blanks is shown on one line.
const wordLength = 40

func isWord(text string) bool {
	return len(text) <= wordLength && !strings.ContainsFunc(text, unicode.IsSpace)
}

type pageWhere struct {
	Parts  []pageField // parts, and bytes in HBase's notation
	Start  string
	Salts  int
	Region loader.Region
	From   string
	To     string
}

// keep fills the form with the submitted values.
func (p *searchPage) keep(given map[string]string) {
	fields := p.Asking()
	for i := range fields {
		fields[i].Value = given[fields[i].Name]
	}
	if given["limit"] != "" {
		p.Limit = given["limit"]
	}
}

// Asking returns the fields of the submitted form, for the form of the next page.
func (p *searchPage) Asking() []pageField {
	if p.Scan {
		return p.Bounds
	}
	for _, x := range p.Indexes {
		if x.Name == p.By {
			return x.Fields
		}
	}
	return p.Fields
}

func (p *searchPage) times(n *noted, all time.Duration) {
	for _, t := range []struct {
		name string
		took time.Duration
	}{{"in all", all}, {"waiting for a turn", n.wait}, {"HBase", max(n.read-n.encode, 0)}, {"JSON", n.encode}} {
		p.Times = append(p.Times, pageField{t.name, t.took.Round(10 * time.Microsecond).String()})
	}
}

func wherePage(w *query.Where) *pageWhere {
	p := &pageWhere{Salts: w.Salts, Region: w.Region, From: rowkey.String(w.Region.Start), To: rowkey.String(w.Region.End)}
	for _, part := range w.Parts {
		text := "any"
		if part.Bytes != nil {
			text = rowkey.String(part.Bytes)
		}
		p.Parts = append(p.Parts, pageField{part.Part, text})
	}
	if w.Start != nil {
		p.Start = rowkey.String(w.Start)
	}
	return p
}

// fill builds the table from the JSON of a response, so that both are the same.
func (p *searchPage) fill(body []byte, shape *rowjson.Shape, keys []string) error {
	var answer struct {
		Rows []map[string]json.RawMessage `json:"rows"`
		Next *string                      `json:"next_page"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return err
	}
	others := map[string]bool{}
	for _, row := range answer.Rows {
		for name := range row {
			others[name] = true
		}
	}
	for _, c := range shape.Columns {
		p.Names = append(p.Names, c.Name)
		delete(others, c.Name)
	}
	p.Names = append(p.Names, slices.Sorted(maps.Keys(others))...)
	for i, row := range answer.Rows {
		r := pageRow{Key: keys[i]}
		for _, name := range p.Names {
			r.Values = append(r.Values, newPageValue(row[name]))
		}
		p.Rows = append(p.Rows, r)
	}
	if answer.Next != nil {
		p.Next = *answer.Next
	}
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, body, "", "  "); err != nil {
		return err
	}
	p.JSON = pretty.String()
	return nil
}

func newPageValue(raw json.RawMessage) pageValue {
	var text string
	var base64 struct {
		Text string `json:"base64"`
	}
	switch {
	case raw == nil || string(raw) == "null":
		return pageValue{Null: true}
	case raw[0] == '"' && json.Unmarshal(raw, &text) == nil:
		return pageValue{Text: text, Word: isWord(text)}
	case raw[0] == '{' && json.Unmarshal(raw, &base64) == nil:
		return pageValue{Text: base64.Text, Raw: true}
	}
	text = strings.TrimSpace(string(raw))
	return pageValue{Text: text, Word: isWord(text)}
}

func (p *searchPage) problem() *Problem { return p.Error }
