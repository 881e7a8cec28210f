package expectation

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"

	"github.com/goccy/go-yaml"
)

// Write returns the section expect of a job file with the list.
func Write(list []Asked) ([]byte, error) {
	entries := []yaml.MapSlice{}
	for _, a := range list {
		var e yaml.MapSlice
		add := func(field string, value any, given bool) {
			if given {
				e = append(e, yaml.MapItem{Key: field, Value: value})
			}
		}
		text := func(field, value string) { add(field, quoted(value), value != "") }
		text("column", a.Column)
		text("severity", a.Severity)
		if r := a.Rows; r != nil {
			var rows yaml.MapSlice
			for _, b := range []struct {
				field string
				bound *int64
			}{{"min", r.Min}, {"max", r.Max}} {
				if b.bound != nil {
					rows = append(rows, yaml.MapItem{Key: b.field, Value: *b.bound})
				}
			}
			if r.Within != "" {
				rows = append(rows, yaml.MapItem{Key: "within", Value: r.Within}, yaml.MapItem{Key: "of_last", Value: r.OfLast})
			}
			add("rows", rows, true)
		}
		text("nulls", a.Nulls)
		values := []quoted{}
		for _, v := range a.Values {
			values = append(values, quoted(v))
		}
		add("values", values, a.Values != nil)
		text("matches", a.Matches)
		text("min", string(a.Min))
		text("max", string(a.Max))
		add("unique", true, a.Unique)
		text("newest_within", a.NewestWithin)
		text("layout", a.Layout)
		text("zone", a.Zone)
		entries = append(entries, e)
	}
	b, err := yaml.Marshal(yaml.MapSlice{{Key: "expect", Value: entries}})
	if err != nil {
		return nil, fmt.Errorf("expectations cannot be written: %w", err)
	}
	return b, nil
}

// quoted is a text that is written in double quotes unless it is a plain word or number, so that every YAML reader reads the same text.
type quoted string

// MarshalYAML returns the text in the form of the file.
func (q quoted) MarshalYAML() ([]byte, error) {
	if plainWord.MatchString(string(q)) && !slices.Contains(notText, string(q)) {
		return []byte(q), nil
	}
	return strconv.AppendQuote(nil, string(q)), nil
}

// plainWord matches a word or a number.
var plainWord = regexp.MustCompile(`^([a-z][a-z0-9_]*|0|[1-9][0-9]{0,17}[%dh]?)$`)

// notText lists plain words that a reader of YAML 1.1 or 1.2 takes for null or a boolean.
var notText = []string{"null", "true", "false", "yes", "no", "on", "off", "y", "n"}
