package settings

import (
	"fmt"
	"slices"
	"strings"

	"bulkload/internal/model/spec"
	"bulkload/pkg/setting"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// sources are the possible origins of a setting, in ascending order of precedence.
var sources = []string{"config file ", "job file ", "environment variable ", "flag "}

// rank returns the precedence of an origin, 0 for a default.
func rank(origin string) int {
	for i, s := range sources {
		if strings.HasPrefix(origin, s) {
			return i + 1
		}
	}
	return 0
}

// Given reports whether the command line gives a flag, as opposed to a file or the environment, which apply to all
// commands.
func (s *Settled) Given(flag string) bool { return rank(s.Origins[flag]) == len(sources) }

// Overridden returns the weaker of the two settings of inputs, as a flag: input or inputs-from. It is empty if both have the same
// source, or neither is set.
func (s *Settled) Overridden() string {
	switch named, listed := rank(s.Origins["input"]), rank(s.Origins["inputs-from"]); {
	case named > listed:
		return "inputs-from"
	case listed > named:
		return "input"
	}
	return ""
}

// originError adds to an error the origins of the settings that it names.
type originError struct {
	err  error
	from []string
}

func (e originError) Error() string { return fmt.Sprintf("%v (%s)", e.err, strings.Join(e.from, "; ")) }
func (e originError) Unwrap() error { return e.err }

// WithOrigins returns an error in the words of the command line. It adds the file or variable that each named setting
// comes from, since the named flag may not have been given.
func WithOrigins(cmd *cobra.Command, err error) error {
	err = SpokenError(cmd, err)
	if err == nil || cmd == nil {
		return err
	}
	s, text := Of(cmd), err.Error()
	var fields []string // of the job file, which the errors are about
	setting.Each(err, func(e *spec.FieldError) { fields = append(fields, e.Field) })
	named := setting.Of(err)
	e := originError{err: err}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		origin := s.Origins[f.Name]
		if origin == "" || strings.HasPrefix(origin, "flag ") || strings.Contains(text, origin) {
			return
		}
		switch field := FieldName(Name(f)); {
		case slices.ContainsFunc(named, func(n setting.Name) bool { return Flag(n) == "--"+f.Name }):
			e.from = append(e.from, fmt.Sprintf("--%s is from %s", f.Name, origin))
		case slices.Contains(fields, field):
			e.from = append(e.from, fmt.Sprintf("%s is from %s", field, origin))
		}
	})
	if len(e.from) == 0 {
		return err
	}
	return e
}

// flagError is an error of the command line itself, whose message names flags.
type flagError struct {
	error
	flags []string // without dashes
}

// AboutFlags marks an error whose message names flags with those flags.
func AboutFlags(err error, flags ...string) error { return flagError{err, flags} }

func (e flagError) Unwrap() error { return e.error }

func (e flagError) Settings() []setting.Name {
	names := make([]setting.Name, len(e.flags))
	for i, f := range e.flags {
		names[i] = setting.Name(FieldName(f))
	}
	return names
}

// In returns the message unchanged: it is only for the command line.
func (e flagError) In(func(setting.Name) string) string { return e.error.Error() }
