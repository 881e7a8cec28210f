package settings

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"
	"time"
	_ "time/tzdata" // time zones for images that hold only the program

	"bulkload/internal/model/spec"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// A day is a date, or a date and a time of day, in local time. It is stored as UTC, where every day has a midnight.
type day struct{ T time.Time }

// parseDay parses the value of --date. A time with an offset is converted to the zone.
func parseDay(text string, zone *time.Location, now time.Time) (day, error) {
	midnight := func(t time.Time) day {
		y, m, d := t.In(zone).Date()
		return day{T: time.Date(y, m, d, 0, 0, 0, 0, time.UTC)}
	}
	switch text {
	case "", "yesterday":
		d := midnight(now)
		d.T = d.T.AddDate(0, 0, -1)
		return d, nil
	case "today":
		return midnight(now), nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02 15:04:05Z07:00"} {
		if t, err := time.Parse(layout, text); err == nil {
			t = t.In(zone)
			return day{T: time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), 0, time.UTC)}, nil
		}
	}
	for _, layout := range []string{time.DateOnly, "20060102", "2006-01-02T15:04:05", time.DateTime, "20060102T150405"} {
		if t, err := time.Parse(layout, text); err == nil {
			return day{T: t}, nil
		}
	}
	return day{}, fmt.Errorf("%q is not a date; write 2026-11-20, today, yesterday or 2026-11-20T00:00:00+00:00", text)
}

func (d day) String() string { return d.T.Format(time.DateOnly) }

// Whole returns the day with its time of day, if it has one.
func (d day) Whole() string {
	if d.T.Truncate(24 * time.Hour).Equal(d.T) {
		return d.String()
	}
	return d.T.Format("2006-01-02T15:04:05")
}

// in formats the day with a layout. Without a layout it returns the day.
func (d day) in(layouts []string) (any, error) {
	if len(layouts) == 0 {
		return d, nil
	}
	if len(layouts) > 1 {
		return nil, errors.New("give one layout")
	}
	layout := layouts[0]
	// Two times that differ in every part, and the first one in another zone.
	a, b := time.Date(1987, 3, 14, 21, 48, 37, 0, time.UTC), time.Date(2031, 12, 25, 8, 16, 59, 0, time.UTC)
	elsewhere := time.Date(1987, 3, 14, 21, 48, 37, 0, time.FixedZone("X", 3600))
	if a.Format(layout) == b.Format(layout) {
		return nil, fmt.Errorf(`layout %q has no date: write it as Go writes 2006-01-02 15:04:05, such as "20060102"`, layout)
	}
	if a.Format(layout) != elsewhere.Format(layout) {
		return nil, fmt.Errorf("layout %q has a time zone, which a day does not have: leave it out", layout)
	}
	return d.T.Format(layout), nil
}

// AddDays returns the day n days later, or earlier if n is below 0.
func (d day) AddDays(n int, layout ...string) (any, error) {
	d.T = d.T.AddDate(0, 0, n)
	return d.in(layout)
}

// AddMonths returns the same day n months later, or the last day of the month if the month is too short.
func (d day) AddMonths(n int, layout ...string) (any, error) {
	first := d.T.AddDate(0, 0, 1-d.T.Day()).AddDate(0, n, 0)
	last := first.AddDate(0, 1, -1).Day()
	d.T = first.AddDate(0, 0, min(d.T.Day(), last)-1)
	return d.in(layout)
}

// templateData has the functions for texts with {{ }}.
type templateData struct{ day day }

// Date returns the day of the command, in a layout if one is given.
func (t templateData) Date(layout ...string) (any, error) { return t.day.in(layout) }

// expand fills in a text with {{ }}. Every name in it must exist.
func (d day) expand(text string, env map[string]string) (string, error) {
	if !strings.Contains(text, "{{") {
		return text, nil
	}
	lookup := func(name string) (string, error) {
		v := env[name]
		if v == "" {
			return "", fmt.Errorf("environment variable %s is not set, or empty", name)
		}
		return v, nil
	}
	t, err := template.New("").Option("missingkey=error").Funcs(template.FuncMap{"env": lookup}).Parse(text)
	if err != nil {
		return "", fmt.Errorf("%q: %w", MaskURLs(text), templateError(err))
	}
	var out strings.Builder
	if err := t.Execute(&out, templateData{d}); err != nil {
		return "", fmt.Errorf("%q: %w", MaskURLs(text), templateError(err))
	}
	return out.String(), nil
}

// templateError removes from an error of a template the words that only make sense inside the program.
func templateError(err error) error {
	if e, ok := errors.AsType[template.ExecError](err); ok {
		text := e.Error()
		if _, after, ok := strings.Cut(text, "error calling "); ok {
			_, text, _ = strings.Cut(after, ": ")
			return errors.New(text)
		}
		if _, after, ok := strings.Cut(text, "can't evaluate field "); ok {
			name, _, _ := strings.Cut(after, " ")
			return fmt.Errorf(`unknown .%s: want {{ .Date "20060102" }}, {{ .Date.AddDays -1 "20060102" }}, {{ .Date.AddMonths -1 "200601" }} and {{ env "NAME" }}`, name)
		}
	}
	return errors.New(strings.TrimPrefix(strings.TrimPrefix(err.Error(), "template: :"), "template: "))
}

// fillDates determines the day of a command and expands the command's text settings and the texts of the job file.
func (s *Settled) fillDates(cmd *cobra.Command, env map[string]string, now time.Time) error {
	zone := time.Local
	if name := ValueOf(cmd, "time-zone"); name != "" {
		var err error
		if zone, err = time.LoadLocation(name); err != nil {
			return fmt.Errorf("--time-zone (%s): %q is not a time zone: such as Asia/Shanghai", s.originOf("time-zone"), name)
		}
	}
	s.Zone = zone
	var err error
	if s.Day, err = parseDay(ValueOf(cmd, "date"), zone, now); err != nil {
		return fmt.Errorf("--date (%s): %w", s.originOf("date"), err)
	}
	var errs []error
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if field, ok := fieldOf(f); !f.Changed || entryOf(f).Verbatim || ok && !field.Dated {
			return
		}
		if err := s.fillFlag(f, env); err != nil {
			errs = append(errs, fmt.Errorf("--%s (%s): %w", f.Name, s.originOf(f.Name), err))
		}
	})
	if s.spec != nil {
		errs = append(errs, s.fillSpec(cmd, env))
	}
	if zone == time.Local && (s.ByDay && needsZone(ValueOf(cmd, "date")) || ValueOf(cmd, "only-between") != "") {
		errs = append(errs, checkTZ(env["TZ"]))
	}
	return errors.Join(errs...)
}

// needsZone reports whether a value of --date is another day in another time zone.
func needsZone(text string) bool {
	a, errA := parseDay(text, time.UTC, time.Time{})
	b, errB := parseDay(text, time.FixedZone("", -60), time.Time{})
	return errA == nil && errB == nil && a != b
}

// checkTZ returns an error for a value of TZ that is not a time zone: the machine's is then UTC without an error.
func checkTZ(tz string) error {
	name := strings.TrimPrefix(tz, ":")
	var err error
	if filepath.IsAbs(name) {
		var data []byte
		if data, err = os.ReadFile(name); err == nil {
			_, err = time.LoadLocationFromTZData(name, data)
		}
	} else {
		_, err = time.LoadLocation(name)
	}
	if err != nil {
		return fmt.Errorf("TZ (environment variable): %.40q is not a time zone: name one such as Asia/Shanghai, or give --time-zone", tz)
	}
	return nil
}

// byDay reports whether a text contains the day.
func byDay(text string) bool { return strings.Contains(text, "{{") && strings.Contains(text, ".Date") }

func (s *Settled) fillFlag(f *pflag.Flag, env map[string]string) error {
	if list, ok := f.Value.(pflag.SliceValue); ok {
		values := slices.Clone(list.GetSlice())
		if !slices.ContainsFunc(values, func(v string) bool { return strings.Contains(v, "{{") }) {
			return nil
		}
		for i := range values {
			var err error
			s.ByDay = s.ByDay || byDay(values[i])
			if values[i], err = s.Day.expand(values[i], env); err != nil {
				return err
			}
		}
		s.Dated = s.Dated || ofInputs(f.Name)
		return list.Replace(values)
	}
	if f.Value.Type() != "string" || !strings.Contains(f.Value.String(), "{{") {
		return nil
	}
	v, err := s.Day.expand(f.Value.String(), env)
	if err != nil {
		return err
	}
	s.Dated, s.ByDay = s.Dated || ofInputs(f.Name), s.ByDay || byDay(f.Value.String())
	return f.Value.Set(v)
}

// fillSpec expands the fields of the job file that a command uses and no flag overrides.
func (s *Settled) fillSpec(cmd *cobra.Command, env map[string]string) error {
	used := func(flag string) bool {
		f := cmd.Flags().Lookup(flag)
		return f != nil && !f.Changed
	}
	var errs []error
	fill := func(flag, text string) string {
		s.ByDay = s.ByDay || byDay(text)
		v, err := s.Day.expand(text, env)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s (%s): %w", FieldName(flag), s.originOf(flag), err))
			return text
		}
		return v
	}
	for _, field := range spec.SpecFields() {
		if !field.Dated || !used(field.Flag()) {
			continue
		}
		texts := slices.Clone(s.spec.Texts(field.Name))
		for i, text := range texts {
			s.Dated = s.Dated || ofInputs(field.Flag()) && strings.Contains(text, "{{")
			texts[i] = fill(field.Flag(), text)
		}
		errs = append(errs, s.spec.Set(field.Name, texts))
	}
	for i := range s.spec.Tables {
		t := &s.spec.Tables[i]
		t.Table, t.Filter = fill("tables", t.Table), fill("tables", t.Filter)
	}
	return errors.Join(errs...)
}

func ofInputs(flag string) bool { return flag == "input" || flag == "inputs-from" }

func (s *Settled) originOf(flag string) string {
	return cmp.Or(s.Origins[flag], "default")
}
