package settings

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"bulkload/internal/model/spec"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Flags say where settings come from, and which day a command is for.
type Flags struct {
	config   string
	date     string
	timeZone string
}

func (s *Flags) Add(f *pflag.FlagSet) {
	Bind(f, To{"config": &s.config, "date": &s.date, "time-zone": &s.timeZone})
}

// Settled has the settings of one command, merged from all sources.
type Settled struct {
	Origins    map[string]string // by flag; a flag without one has its default
	jobFile    string            // as it was given; empty: none
	spec       *spec.Spec        // of the job file, dates filled in; nil: none
	lines      map[string]int    // of its fields
	configFile string            // that was read; empty: none
	Day        day
	Zone       *time.Location    // whose day it is
	variables  map[string]string // of old names that were set, by the name of today
	renamed    []renameWarning
	Dated      bool // the inputs have the day in them, or something else of a template
}

type settledKey struct{}

// Of returns the result of settle, empty for a command that it has not seen.
func Of(cmd *cobra.Command) *Settled {
	if ctx := cmd.Context(); ctx != nil {
		if s, ok := ctx.Value(settledKey{}).(*Settled); ok {
			return s
		}
	}
	return &Settled{}
}

// Command gives the flags of a command what the environment, the job file and
// the configuration file say, and fills dates in. A flag that was given stays.
// The command's context has what was found; log is asked for once they are settled.
func Command(cmd *cobra.Command, log func() *slog.Logger) error {
	if Bare(cmd) {
		return checkValues(cmd)
	}
	s, err := Settle(cmd, os.Environ(), time.Now())
	if err != nil {
		return err
	}
	cmd.SetContext(context.WithValue(cmd.Context(), settledKey{}, s))
	if err := checkValues(cmd); err != nil {
		return err
	}
	warnUnknown(log(), cmd.Root(), os.Environ())
	for _, w := range s.renamed {
		log().Warn(w.text)
	}
	if s.Dated {
		log().Info("inputs of one day", "date", s.Day.Whole(), "from", s.originOf("date"))
	}
	return nil
}

// Bare says that a command needs no settings, so that it works with a broken
// configuration too.
func Bare(cmd *cobra.Command) bool {
	for c := cmd; c.HasParent(); c = c.Parent() {
		if slices.Contains([]string{"version", "help", "completion", "schema", cobra.ShellCompRequestCmd, cobra.ShellCompNoDescRequestCmd}, c.Name()) {
			return true
		}
	}
	return false
}

// Settle is Command without the process around it.
func Settle(cmd *cobra.Command, environ []string, now time.Time) (*Settled, error) {
	s := &Settled{Origins: map[string]string{}, variables: map[string]string{}}
	env := environment(environ)
	known := Known(cmd.Root())
	config, err := s.readConfig(cmd, env, known)
	if err != nil {
		return nil, err
	}
	if err := s.readJob(cmd, env, known); err != nil {
		return nil, err
	}
	if err := s.renameGiven(cmd, env); err != nil {
		return nil, err
	}
	var errs []error
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if err := s.settleFlag(cmd, f, env, config); err != nil {
			errs = append(errs, err)
		}
	})
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return s, s.fillDates(cmd, env, now)
}

// settleFlag gives one flag its value: flag over environment over job file
// over configuration file.
func (s *Settled) settleFlag(cmd *cobra.Command, f *pflag.Flag, env map[string]string, config spec.Options) error {
	if _, old := asOldName(f); old {
		return nil
	}
	if f.Changed {
		s.Origins[f.Name] = cmp.Or(s.Origins[f.Name], "flag --"+f.Name)
		return nil
	}
	name := Name(f)
	if name == "help" {
		return nil
	}
	if v := env[Variable(name)]; v != "" {
		return s.set(cmd, f, fromEnvironment(f, v), "environment variable "+cmp.Or(s.variables[Variable(name)], Variable(name)))
	}
	field := FieldName(name)
	if line, ok := s.lines[field]; ok && s.spec != nil && IsField(field) {
		s.Origins[f.Name] = fmt.Sprintf("job file %s:%d", s.jobFile, line)
		return nil // what specFlags.merge takes from there
	}
	if s.spec != nil {
		if o, ok := option(s.spec.Options, name); ok {
			return s.set(cmd, f, o.Values, fmt.Sprintf("job file %s:%d", s.jobFile, o.Line))
		}
	}
	if o, ok := option(config, name); ok {
		return s.set(cmd, f, o.Values, fmt.Sprintf("config file %s:%d", s.configFile, o.Line))
	}
	return nil
}

// commas reports whether a flag takes several values with commas between.
func commas(f *pflag.Flag) bool {
	field, _ := fieldOf(f)
	return field.Commas || entryOf(f).Commas
}

// set gives a flag values that were not on the command line.
func (s *Settled) set(cmd *cobra.Command, f *pflag.Flag, values []string, origin string) error {
	if _, list := f.Value.(pflag.SliceValue); !list && len(values) != 1 {
		if len(values) == 0 || !commas(f) {
			return fmt.Errorf("%s: %s takes one value, not a list of %d", origin, Snake(Name(f)), len(values))
		}
		values = []string{strings.Join(values, ",")}
	}
	for _, v := range values {
		if err := cmd.Flags().Set(f.Name, v); err != nil {
			if Secret(f) {
				return fmt.Errorf("%s: not a valid value of --%s", origin, f.Name)
			}
			return valueError(origin+": ", MaskURLs(v), err)
		}
	}
	s.Origins[f.Name] = origin
	return nil
}

// FlagValue returns an error about the value of a flag that was given: the flag, the value, and what is wrong with it.
func FlagValue(err *pflag.InvalidValueError) error {
	f := err.GetFlag()
	if Secret(f) {
		return fmt.Errorf("--%s: not a value that it takes", f.Name)
	}
	return valueError("--"+f.Name+" ", MaskURLs(err.GetValue()), err)
}

// valueError names a value once, also where the cause does.
func valueError(where, value string, err error) error {
	err = cause(err)
	if strings.Contains(err.Error(), strconv.Quote(value)) {
		return fmt.Errorf("%s: %w", strings.TrimRight(where, ": "), err)
	}
	return fmt.Errorf("%s%q: %w", where, value, err)
}

// cause returns the error of a value, without the flag that was not given.
func cause(err error) error {
	if n, ok := errors.AsType[*strconv.NumError](err); ok {
		switch n.Func {
		case "ParseBool":
			return errors.New("not true or false")
		case "ParseInt", "ParseUint", "Atoi":
			if errors.Is(n.Err, strconv.ErrRange) {
				return errors.New("out of range")
			}
			return errors.New("not a whole number")
		}
		return n
	}
	if invalid, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		if e := errors.Unwrap(invalid); e != nil {
			return e
		}
	}
	return err
}

// environment returns the variables by name.
func environment(environ []string) map[string]string {
	env := map[string]string{}
	for _, kv := range environ {
		name, value, _ := strings.Cut(kv, "=")
		env[name] = value
	}
	return env
}

// fromEnvironment takes a variable apart: a flag that may be repeated has one
// value on each line.
func fromEnvironment(f *pflag.Flag, v string) []string {
	if _, list := f.Value.(pflag.SliceValue); !list {
		return []string{v}
	}
	var values []string
	for line := range strings.Lines(v) {
		if line = strings.TrimSpace(line); line != "" {
			values = append(values, line)
		}
	}
	return values
}

func option(list spec.Options, name string) (spec.Option, bool) {
	for _, o := range list {
		if o.Name == Snake(name) {
			return o, true
		}
	}
	return spec.Option{}, false
}
