package inspect

import (
	"cmp"
	"slices"
	"strconv"

	"bulkload/internal/model/spec"
	"bulkload/pkg/source/dialect"
)

// Setting is a setting that differs from its preset: the field of a job file, and its value in a job file.
type Setting struct {
	Field string `json:"field"`
	Value string `json:"value"`
}

// Settings describe a dialect as a preset and settings of a job.
type Settings struct {
	Preset   string    `json:"dialect"`
	Settings []Setting `json:"settings,omitempty"`
	spec     spec.Spec
}

// Nearest returns the preset that differs from a dialect in the fewest settings, together with these settings. Among presets that are equally near, the
// one with the dialect's own name is preferred. The result is never nil, because every detected dialect can be expressed in this way.
func Nearest(d *dialect.Dialect) *Settings {
	var best *Settings
	if d.Doubled && d.RecordSep == "\n" && d.Name != dialect.Pandas {
		lines := *d
		lines.RecordSep = "" // lines may end with LF or CR LF: a writer of CSV quotes values with a CR
		d = &lines
	}
	names := dialect.Separated()
	if at := slices.Index(names, d.Name); at > 0 {
		names = append([]string{d.Name}, slices.Delete(names, at, at+1)...)
	}
	for _, name := range names {
		if d.Name == dialect.Excel && name != dialect.Excel || name == dialect.Excel && d.Name != dialect.Excel {
			continue // the preset for Excel takes its separator from the file
		}
		if s := asPreset(name, d); s != nil && (best == nil || len(s.Settings) < len(best.Settings)) {
			best = s
		}
	}
	if best == nil {
		best = &Settings{Preset: dialect.CSV}
	}
	return best
}

// asPreset describes a dialect by the preset with a name and the settings that differ. It returns nil if that is not possible.
func asPreset(name string, d *dialect.Dialect) *Settings {
	p, err := dialect.Preset(name)
	if err != nil {
		return nil
	}
	s := &Settings{Preset: name, spec: spec.Spec{Reading: spec.Reading{Dialect: name}}}
	set := func(field, value string, to *string) {
		s.Settings = append(s.Settings, Setting{field, value})
		*to = value
	}
	if d.FieldSep != p.FieldSep && d.Name != dialect.Excel {
		set("field_sep", dialect.Text(d.FieldSep), &s.spec.FieldSep)
	}
	different := func(field, is, preset, empty string, to *string) {
		if is != preset {
			set(field, cmp.Or(dialect.Text(is), empty), to)
		}
	}
	different("record_sep", d.RecordSep, p.RecordSep, `\r\n`, &s.spec.RecordSep)
	different("quote", d.Quote, p.Quote, "none", &s.spec.Quote)
	different("escape", d.Escape, p.Escape, "none", &s.spec.Escape)
	if d.Escape != "" && d.Map != p.Map {
		set("escape_map", string(d.Map), &s.spec.EscapeMap)
	}
	if d.Lenient {
		set("quotes", "lenient", &s.spec.Quotes)
	}
	if !slices.Equal(d.Null, p.Null) {
		s.spec.NullValue = slices.Clone(d.Null)
		if len(d.Null) == 0 {
			s.spec.NullValue = spec.Texts{"none"}
		}
		for _, n := range s.spec.NullValue {
			s.Settings = append(s.Settings, Setting{"null_value", n})
		}
	}
	if d.NullQuoted {
		set("null_quoted", "yes", &s.spec.NullQuoted)
	}
	if d.Header != p.Header {
		set("header", string(d.Header), &s.spec.Header)
	}
	for _, n := range []struct {
		field string
		value int
		to    *int
	}{{"skip_lines", d.SkipLines, &s.spec.SkipLines}, {"skip_end", d.SkipEnd, &s.spec.SkipEnd}} {
		if n.value > 0 {
			s.Settings = append(s.Settings, Setting{n.field, strconv.Itoa(n.value)})
			*n.to = n.value
		}
	}
	if d.Charset != "" {
		set("charset", d.Charset, &s.spec.Charset)
	}
	j, err := s.spec.ResolveTable()
	if err != nil || j.Text() == nil {
		return nil
	}
	got, want := *j.Text(), *d
	if got.Escape == "" {
		got.Map, want.Map = dialect.Literal, dialect.Literal
	}
	if d.Name == dialect.Excel {
		want.FieldSep = got.FieldSep
	}
	if !got.Equal(want) {
		return nil
	}
	return s
}
