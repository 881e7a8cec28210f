package inspect

import (
	"slices"

	"bulkload/internal/model/spec"
	"bulkload/pkg/source/dialect"
)

// Given holds the configured settings that concern text. All other such settings are detected.
type Given struct {
	spec spec.Spec
	// text is the dialect that a job with only these settings would have; nil if the format, one-byte separators and the header describe the text, as
	// for plain csv and dumps.
	text *dialect.Dialect
}

// NewGiven checks settings.
func NewGiven(s spec.Spec) (*Given, error) {
	j, err := s.ResolveTable()
	if err != nil {
		return nil, err
	}
	g := &Given{spec: s, text: j.Text()}
	if s.Dialect == "" && g.text != nil {
		g.spec.Header = s.Header
	}
	return g, nil
}

func parsed(text string) string {
	b, err := dialect.Parse(text)
	if err != nil {
		return text
	}
	return b
}

func (g *Given) fieldSep() string  { return parsed(g.spec.FieldSep) }
func (g *Given) recordSep() string { return parsed(g.spec.RecordSep) }

// quote returns the configured quote byte, "" if there is none or quotes are disabled.
func (g *Given) quote() string {
	if g.spec.Quote == "none" {
		return ""
	}
	return parsed(g.spec.Quote)
}

// cuts reports whether a dialect has the configured quotes and escapes.
func (g *Given) cuts(d *dialect.Dialect) bool {
	s := &g.spec
	switch {
	case s.Quote == "none" && d.Quote != "", s.Quote != "" && s.Quote != "none" && d.Quote != g.quote():
		return false
	case s.Escape == "none" && d.Escape != "":
		return false
	case s.Escape != "" && s.Escape != "none":
		if e := parsed(s.Escape); e == d.Quote && !d.Doubled || e != d.Quote && d.Escape != e {
			return false
		}
	}
	return !(s.Quotes == "lenient" && !d.Lenient || s.Quotes == "strict" && d.Lenient) && (s.EscapeMap == "" || string(d.Map) == s.EscapeMap)
}

func (g *Given) nulls() []string {
	if n := g.spec.NullValue; len(n) != 1 || n[0] != "none" {
		return slices.Clone([]string(n))
	}
	return nil
}

// distance returns the number of settings in which a dialect differs from the configured preset.
func (g *Given) distance(d *dialect.Dialect) (n int) {
	if g.spec.Dialect == "" {
		return 0
	}
	o := g.text
	for _, differs := range []bool{d.FieldSep != o.FieldSep, d.RecordSep != o.RecordSep, d.Quote != o.Quote,
		d.Doubled != o.Doubled || d.Lenient != o.Lenient, d.Escape != o.Escape || d.QuotedOnly != o.QuotedOnly, d.Map != o.Map, !slices.Equal(d.Null, o.Null),
		d.NullQuoted != o.NullQuoted, d.Header != o.Header} {
		if differs {
			n++
		}
	}
	return n
}
