package settings

import (
	"strconv"
	"strings"

	"bulkload/pkg/dialect"
	"bulkload/pkg/spec"
)

// ofDialect fills in what a dialect says of settings that are not given.
func ofDialect(list []Setting, s spec.Spec) {
	s.Key = ""
	j, err := s.ResolveTable()
	if err != nil || j.Text() == nil {
		return // what is wrong is said when the job is to run
	}
	d := j.Text()
	yes := map[bool]string{true: "yes", false: "no"}
	quotes := "strict"
	if d.Lenient {
		quotes = "lenient"
	}
	var nulls []string
	for _, null := range d.Null {
		nulls = append(nulls, "'"+null+"'")
	}
	none := func(text string) string {
		if text == "" {
			return "none"
		}
		return text
	}
	record := dialect.Text(d.RecordSep)
	if record == "" {
		record = `\n or \r\n`
	}
	empty := "skip"
	if j.StoresEmpty(len(d.Null) > 0) {
		empty = "store"
	}
	effective := map[string]string{"field_sep": dialect.Text(d.FieldSep), "record_sep": record, "quote": none(dialect.Text(d.Quote)), "quotes": quotes,
		"escape": none(dialect.Text(d.Escape)), "escape_map": string(d.Map), "null_value": none(strings.Join(nulls, ", ")), "null_quoted": yes[d.NullQuoted],
		"header": string(d.Header), "trim": string(d.Trim), "empty": empty}
	for i := range list {
		if v, ok := effective[list[i].Name]; ok && list[i].Origin == "default" {
			list[i].Value, list[i].Origin = v, "dialect "+d.Name
		}
	}
}

// readingSpec is what the listed settings say about text.
func readingSpec(list []Setting) (s spec.Spec) {
	given := func(name string) string {
		for _, v := range list {
			if v.Name == name && v.Origin != "default" {
				return v.Value
			}
		}
		return ""
	}
	number := func(name string) int {
		n, _ := strconv.Atoi(given(name))
		return n
	}
	s.Format, s.Header, s.FieldSep, s.RecordSep, s.Empty = given("format"), given("header"), given("field_sep"), given("record_sep"), given("empty")
	s.Reading = spec.Reading{Dialect: given("dialect"), Quote: given("quote"), Quotes: given("quotes"), Escape: given("escape"), EscapeMap: given("escape_map"),
		NullQuoted: given("null_quoted"), SkipLines: number("skip_lines"), SkipEnd: number("skip_end"), Comment: given("comment"), Trim: given("trim"),
		Charset: given("charset")}
	for _, v := range list {
		if v.Name == "null_value" && v.Origin != "default" {
			s.NullValue = strings.Split(v.Value, ", ")
		}
	}
	return s
}
