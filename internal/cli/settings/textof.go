package settings

import (
	"cmp"
	"strings"

	"bulkload/internal/model/spec"
	"bulkload/pkg/source/dialect"
)

// ofDialect fills in the values that a dialect determines for settings that are not given.
func ofDialect(list []Setting, s spec.Spec) {
	s = spec.Spec{Format: s.Format, Header: s.Header, FieldSep: s.FieldSep, RecordSep: s.RecordSep, Empty: s.Empty, Reading: s.Reading}
	j, err := s.ResolveTable()
	if err != nil || j.Text() == nil {
		return // errors are reported when the job runs
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
	empty := "skip"
	if j.StoresEmpty(len(d.Null) > 0) {
		empty = "store"
	}
	effective := map[string]string{"field_sep": dialect.Text(d.FieldSep), "record_sep": cmp.Or(dialect.Text(d.RecordSep), `\n or \r\n`), "quote": cmp.Or(dialect.Text(d.Quote), "none"), "quotes": quotes,
		"escape": cmp.Or(dialect.Text(d.Escape), "none"), "escape_map": string(d.Map), "null_value": cmp.Or(strings.Join(nulls, ", "), "none"), "null_quoted": yes[d.NullQuoted],
		"header": string(d.Header), "trim": string(d.Trim), "last_column": cmp.Or(string(d.Last), "plain"), "empty": empty}
	for i := range list {
		if v, ok := effective[list[i].Name]; ok && list[i].Origin == "default" {
			list[i].Value, list[i].Origin = v, "dialect "+d.Name
		}
	}
}
