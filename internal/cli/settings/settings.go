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

	"bulkload/internal/model/progress"
	"bulkload/internal/model/spec"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// AddFlags registers the flags that select the sources of settings, and the day of a command.
func AddFlags(f *pflag.FlagSet) {
	Bind(f, To{"config": new(string), "date": new(string), "time-zone": new(string)})
}

// Settled has the values and origins of one command's settings.
type Settled struct {
	Origins    map[string]string // by flag; a flag without one has its default
	jobFile    string            // as given; empty: none
	spec       *spec.Spec        // of the job file, with dates filled in; nil: none
	lines      map[string]int    // line numbers of the job file's fields
	configFile string            // the file that was read; empty: none
	Day        day
	Zone       *time.Location    // time zone of the day
	Window     *progress.Window  // the hours of the command's work; nil: all
	variables  map[string]string // variables of old names that were set, by the current name
	renamed    []renameWarning
	Dated      bool // the inputs contain the day, or another value of a template
	ByDay      bool // some setting contains the day
}

type settledKey struct{}

// Of returns the settings that Command has stored, or empty ones if the command has none.
func Of(cmd *cobra.Command) *Settled {
	if ctx := cmd.Context(); ctx != nil {
		if s, ok := ctx.Value(settledKey{}).(*Settled); ok {
			return s
		}
	}
	return &Settled{}
}

// Command sets the flags of a command from the environment, the job file and the configuration file, and fills dates
// in. It keeps flags that were given. It stores the result in the command's context. log is called once the settings
// are final.
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
	if text := ValueOf(cmd, "only-between"); text != "" {
		if s.Window, err = progress.ParseWindow(text, s.Zone); err != nil {
			return AboutFlags(fmt.Errorf("--only-between: %w", err), "only-between")
		}
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

// Bare reports whether a command needs no settings, so that it also works with a broken configuration.
func Bare(cmd *cobra.Command) bool {
	for c := cmd; c.HasParent(); c = c.Parent() {
		if slices.Contains([]string{"version", "help", "completion", "schema", cobra.ShellCompRequestCmd, cobra.ShellCompNoDescRequestCmd}, c.Name()) {
			return true
		}
	}
	return false
}

// Settle is Command without access to the process.
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

// settleFlag sets one flag. The flag has precedence over the environment, the environment over the job file, and that
// over the configuration file.
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
		return nil // JobSpec takes the value from the job file
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

// commas reports whether a flag takes several values that are separated by commas.
func commas(f *pflag.Flag) bool {
	field, _ := fieldOf(f)
	return field.Commas || entryOf(f).Commas
}

// set sets a flag to values from a source other than the command line.
func (s *Settled) set(cmd *cobra.Command, f *pflag.Flag, values []string, origin string) error {
	if _, list := f.Value.(pflag.SliceValue); !list && len(values) != 1 {
		if len(values) == 0 || !commas(f) {
			return fmt.Errorf("%s: %s takes one value, not a list of %d", origin, Snake(Name(f)), len(values))
		}
		values = []string{strings.Join(values, ",")}
	}
	for _, v := range values {
		if err := cmd.Flags().Set(f.Name, v); err != nil {
			if SecretName(f.Name) {
				return fmt.Errorf("%s: not a valid value of --%s", origin, f.Name)
			}
			return valueError(f, origin+": ", MaskURLs(v), err)
		}
	}
	s.Origins[f.Name] = origin
	return nil
}

// FlagValue returns an error about an invalid value of a given flag: the flag, the value, and the reason.
func FlagValue(err *pflag.InvalidValueError) error {
	f := err.GetFlag()
	if SecretName(f.Name) {
		return fmt.Errorf("--%s: not a value that it takes", f.Name)
	}
	return valueError(f, "--"+f.Name+" ", MaskURLs(err.GetValue()), err)
}

// valueError returns an error that names the value only once, even if the cause names it too.
func valueError(f *pflag.Flag, where, value string, err error) error {
	if err = cause(err); f.Value.Type() == "duration" {
		err = fmt.Errorf("%q is not a duration; write 10m", value)
	}
	if strings.Contains(err.Error(), strconv.Quote(value)) {
		return fmt.Errorf("%s: %w", strings.TrimRight(where, ": "), err)
	}
	return fmt.Errorf("%s%q: %w", where, value, err)
}

// cause returns the reason of an error about a value, without the name of the flag.
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

func environment(environ []string) map[string]string {
	env := map[string]string{}
	for _, kv := range environ {
		name, value, _ := strings.Cut(kv, "=")
		env[name] = value
	}
	return env
}

// fromEnvironment returns the values of a variable. For a flag that may be repeated, each line is one value.
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
	i := slices.IndexFunc(list, func(o spec.Option) bool { return o.Name == Snake(name) })
	if i < 0 {
		return spec.Option{}, false
	}
	return list[i], true
}
