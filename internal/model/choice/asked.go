package choice

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"bulkload/internal/model/fail"
	"bulkload/internal/model/keyrange"
	"bulkload/pkg/keygen"
	"bulkload/pkg/keygen/rowkey"
	"bulkload/pkg/loader"
	"bulkload/pkg/setting"
)

// Asked is a choice in its text form. It bounds the rows either by original keys or by bytes of row keys.
type Asked struct {
	FromKey   string `yaml:"from_key" json:"from_key,omitempty"`     // the first original key, given as the values of its first columns
	ToKey     string `yaml:"to_key" json:"to_key,omitempty"`         // the first original key that is not read, in the same form
	KeyPrefix string `yaml:"key_prefix" json:"key_prefix,omitempty"` // the prefix of original keys

	StartRow  string `yaml:"start_row" json:"start_row,omitempty"` // the first row key
	StopRow   string `yaml:"stop_row" json:"stop_row,omitempty"`   // the first row key that is not read
	RowPrefix string `yaml:"row_prefix" json:"row_prefix,omitempty"`

	Since string   `yaml:"since" json:"since,omitempty"` // milliseconds or a time
	Until string   `yaml:"until" json:"until,omitempty"`
	Only  []string `yaml:"only" json:"only,omitempty"` // families and columns

	Versions int `yaml:"input_versions" json:"versions,omitempty"` // versions read per column: a row becomes one record per timestamp; 0: a row is one record
}

// ByKey reports whether original keys bound the rows.
func (a Asked) ByKey() bool { return a.FromKey+a.ToKey+a.KeyPrefix != "" }

// Keys describes how the row keys of a table are made.
type Keys struct {
	Spec    keygen.Expr  // nil: unknown
	Modulus int          // modulus of salts that specify none
	Name    setting.Name // the setting that has the spec
}

// Resolve parses the texts and returns the choice.
func (a Asked) Resolve(k Keys) (c Choice, err error) {
	if c.Ranges, c.Salts, c.KeyOrder, err = a.ranges(k); err != nil {
		return c, fail.With(fail.Config, err)
	}
	if c.Columns, err = ParseColumns(a.Only); err != nil {
		return c, fail.With(fail.Config, setting.Errorf("%s: %w", setting.Only, err))
	}
	for _, t := range []struct {
		name setting.Name
		text string
		to   *int64
	}{{setting.Since, a.Since, &c.Since}, {setting.Until, a.Until, &c.Until}} {
		if *t.to, err = ParseTime(t.text); err != nil {
			return c, fail.With(fail.Config, setting.Errorf("%s: %w", t.name, err))
		}
	}
	if c.Versions = a.Versions; c.Versions < 0 {
		return c, fail.Errorf(fail.Config, "%s %d is below 0", setting.InputVersions, c.Versions)
	}
	return c, c.Check()
}

// ranges returns the ranges of the rows to read, nil for all rows. If original keys bound them, it also returns the key's salts, and the key's
// spec if the order of keys is not that of the values.
func (a Asked) ranges(k Keys) (_ []keyrange.Range, _ *keyrange.Salts, keyOrder string, err error) {
	kinds := 0
	for _, given := range []bool{a.FromKey+a.ToKey != "", a.KeyPrefix != "", a.StartRow+a.StopRow != "", a.RowPrefix != ""} {
		if given {
			kinds++
		}
	}
	switch {
	case kinds == 0:
		return nil, nil, "", nil
	case kinds > 1:
		return nil, nil, "", setting.Errorf("rows are bounded by %s and %s, by %s, by %s and %s, or by %s: only one of these at a time",
			setting.FromKey, setting.ToKey, setting.KeyPrefix, setting.StartRow, setting.StopRow, setting.RowPrefix)
	case !a.ByKey():
		r, err := a.rows()
		return r, nil, "", err
	case k.Spec == nil:
		return nil, nil, "", setting.Errorf("%s, %s and %s need the spec of the row keys: give it with %s", setting.FromKey, setting.ToKey, setting.KeyPrefix, k.Name)
	}
	values := func(name setting.Name, text string) (v []string, err error) {
		if text == "" {
			return nil, nil
		}
		if v, err = keyrange.ParseValues(text); err != nil {
			err = setting.Errorf("%s: %w", name, err)
		}
		return v, err
	}
	from, fromErr := values(setting.FromKey, a.FromKey)
	to, toErr := values(setting.ToKey, a.ToKey)
	prefix, prefixErr := values(setting.KeyPrefix, a.KeyPrefix)
	if err := errors.Join(fromErr, toErr, prefixErr); err != nil {
		return nil, nil, "", err
	}
	key := keyrange.Split(k.Spec)
	key.From, key.To, key.Prefix = setting.FromKey, setting.ToKey, setting.KeyPrefix
	key.Else = setting.Textf("bound the rows with %s and %s, or read all", setting.StartRow, setting.StopRow)
	modulus := max(k.Modulus, 1)
	var r keyrange.Rows
	if prefix != nil {
		r, err = key.Beginning(modulus, prefix)
	} else if r, err = key.Between(modulus, from, to); err == nil {
		var values *keyrange.Values
		_, values, err = key.ByValue(modulus, from, to)
		if values != nil {
			keyOrder = k.Spec.String()
		}
	}
	if err != nil {
		return nil, nil, "", err
	}
	salts, err := key.Salts(modulus)
	return r.Ranges(), salts, keyOrder, err
}

// rows returns the range of row keys given by StartRow and StopRow, or by RowPrefix.
func (a Asked) rows() ([]keyrange.Range, error) {
	var b [3][]byte
	for i, x := range []struct {
		name setting.Name
		text string
	}{{setting.StartRow, a.StartRow}, {setting.StopRow, a.StopRow}, {setting.RowPrefix, a.RowPrefix}} {
		var err error
		if b[i], err = rowkey.Parse(x.text); err != nil {
			return nil, setting.Errorf("%s: %w", x.name, err)
		}
	}
	r := keyrange.Range{Start: b[0], Stop: b[1]}
	if a.RowPrefix != "" {
		r = keyrange.Range{Start: b[2], Stop: loader.PrefixEnd(b[2])}
	}
	if len(r.Stop) > 0 && string(r.Start) >= string(r.Stop) {
		return nil, setting.Errorf("no row is in the range: %s is not before %s", setting.StartRow, setting.StopRow)
	}
	return []keyrange.Range{r}, nil
}

// given is a setting that has been set, with its value.
type given struct {
	name setting.Name
	text string
}

func (a Asked) given() []given {
	versions := ""
	if a.Versions != 0 {
		versions = strconv.Itoa(a.Versions)
	}
	all := []given{{setting.FromKey, a.FromKey}, {setting.ToKey, a.ToKey}, {setting.KeyPrefix, a.KeyPrefix}, {setting.StartRow, a.StartRow}, {setting.StopRow, a.StopRow}, {setting.RowPrefix, a.RowPrefix},
		{setting.Since, plainTime(a.Since)}, {setting.Until, plainTime(a.Until)}, {setting.Only, strings.Join(a.Only, ",")}, {setting.InputVersions, versions}}
	return slices.DeleteFunc(all, func(g given) bool { return g.text == "" })
}

// First returns the first setting that is set, and false if none is.
func (a Asked) First() (setting.Name, bool) {
	all := a.given()
	if len(all) == 0 {
		return "", false
	}
	return all[0].name, true
}

// String lists the settings that are set, with their values; it is empty if none is. Texts that denote the same time give the same string.
func (a Asked) String() string {
	var all []string
	for _, g := range a.given() {
		all = append(all, strings.TrimPrefix(string(g.name), "input_")+" "+g.text) // an export has no inputs
	}
	return strings.Join(all, ", ")
}

// ParseColumns parses families and columns, written f and f:name, where the bytes of a name are escaped as HBase prints them.
func ParseColumns(names []string) (columns []Column, err error) {
	for _, name := range names {
		family, qualifier, ok := strings.Cut(strings.TrimSpace(name), ":")
		if family == "" {
			return nil, fmt.Errorf("%q has no family: write f, or f:name", name)
		}
		c := Column{Family: family}
		if ok {
			if c.Qualifier, err = rowkey.Parse(qualifier); err != nil {
				return nil, fmt.Errorf("%q: %w", name, err)
			}
		}
		columns = append(columns, c)
	}
	return columns, nil
}

// ParseTime parses a time, given in milliseconds or as RFC 3339, and returns milliseconds; 0 for an empty text.
func ParseTime(text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	if ms, err := strconv.ParseInt(text, 10, 64); err == nil && ms > 0 {
		return ms, nil
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil || t.UnixMilli() <= 0 {
		return 0, fmt.Errorf("%q is neither milliseconds since 1970 nor a time like 2026-11-01T22:00:00Z", text)
	}
	return t.UnixMilli(), nil
}

// plainTime returns a time as milliseconds, and a text that is not a time unchanged.
func plainTime(text string) string {
	if ms, err := ParseTime(text); err == nil && ms > 0 {
		return strconv.FormatInt(ms, 10)
	}
	return text
}
