package settings

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"bulkload/internal/model/spec"
	"bulkload/pkg/keygen"
	"bulkload/pkg/setting"
)

// Name returns the name of a flag in files. The environment uses it in capitals.
func Name(f *pflag.Flag) string {
	if at := f.Annotations[entryFlag]; at != nil {
		return at[1]
	}
	return f.Name
}

// IsJobFile reports whether a flag names a job file rather than a job.
func IsJobFile(f *pflag.Flag) bool {
	return f != nil && entryOf(f).Flag == "job" && !entryOf(f).Own
}

// Variable returns the environment variable of a setting.
func Variable(name string) string { return "BULKLOAD_" + strings.ToUpper(Snake(name)) }

// Snake returns a setting's name in files.
func Snake(name string) string { return strings.ReplaceAll(name, "-", "_") }

// FieldName returns the field of a job file that a setting overrides.
func FieldName(name string) string {
	if name == "input" {
		return "inputs"
	}
	return Snake(name)
}

// IsField reports whether a job file has the field, other than the section of settings.
func IsField(name string) bool {
	f, ok := spec.FieldOf(name)
	return ok && f.Type != spec.FieldSettings
}

// Once reports whether a setting, named with underscores, is for one command line and not for a file.
func Once(name string) bool { return onceFlag(name) != "" }

// onceFlag returns the flag of a setting for which [Once] holds, without dashes, or "".
func onceFlag(name string) string {
	if name == "help" {
		return name
	}
	for _, e := range table {
		is := Snake(e.Flag) == name
		if e.Own {
			is = slices.ContainsFunc(strings.Fields(e.Of), func(command string) bool { return Snake(command+"-"+e.Flag) == name })
		}
		if e.Once && is {
			return e.Flag
		}
	}
	return ""
}

// OnceFlags returns the flags of all settings for which [Once] holds, sorted. The name of a command precedes a flag that other commands have for a
// setting of files.
func OnceFlags() (flags []string) {
	for _, e := range table {
		flag := "--" + e.Flag
		switch {
		case !e.Once:
		case !e.Own:
			flags = append(flags, flag)
		default:
			for _, command := range strings.Fields(e.Of) {
				flags = append(flags, command+" "+flag)
			}
		}
	}
	flags = slices.DeleteFunc(slices.Clone(flags), func(flag string) bool {
		_, of, ok := strings.Cut(flag, " ")
		return ok && slices.Contains(flags, of)
	})
	slices.Sort(flags)
	return slices.Compact(flags)
}

// Known returns the settings of all commands, with underscores, sorted.
func Known(root *cobra.Command) []string {
	var names []string
	VisitAll(root, func(f *pflag.Flag) {
		if f.Name != "help" {
			names = append(names, Snake(Name(f)))
		}
	})
	slices.Sort(names)
	return slices.Compact(names)
}

// VisitAll calls fn for each flag of a command and its subcommands that has a setting.
func VisitAll(c *cobra.Command, fn func(*pflag.Flag)) {
	if Bare(c) {
		return
	}
	c.Flags().VisitAll(fn)
	c.PersistentFlags().VisitAll(fn)
	for _, sub := range c.Commands() {
		VisitAll(sub, fn)
	}
}

// ForFiles reports whether a file may set a setting. With section, the file is the section of a job file, whose own
// fields are next to that section.
func ForFiles(name string, section bool) bool {
	return !Once(name) && !(section && IsField(FieldName(name)))
}

// CheckNames refuses settings of a file that no command has.
func CheckNames(file string, options spec.Options, known []string, section bool) error {
	for _, o := range options {
		at := fmt.Sprintf("%s:%d", file, o.Line)
		switch {
		case Once(o.Name):
			return fmt.Errorf("%s: %s cannot be in a file: give it to the command as %s", at, o.Name, "--"+onceFlag(o.Name))
		case section && IsField(FieldName(o.Name)):
			return fmt.Errorf("%s: %s is a field of the job file: put it at the top level, not under options", at, FieldName(o.Name))
		case slices.Contains(known, o.Name):
		case IsField(o.Name) && !section:
			return fmt.Errorf("%s: %s is a field of job files%s", at, o.Name, suggest(o.Name, known))
		default:
			return fmt.Errorf("%s: unknown setting %q%s", at, o.Name, suggest(o.Name, known))
		}
	}
	return nil
}

// warnUnknown logs a warning for variables that look like settings but are not.
func warnUnknown(log *slog.Logger, root *cobra.Command, environ []string) {
	known := Known(root)
	for _, kv := range environ {
		name, _, _ := strings.Cut(kv, "=")
		rest, ours := strings.CutPrefix(name, "BULKLOAD_")
		if !ours || slices.Contains(known, strings.ToLower(rest)) && rest == strings.ToUpper(rest) {
			continue
		}
		// Variables of the program's own tests, and variables that Kubernetes sets for a service named bulkload.
		if slices.ContainsFunc([]string{"TEST_", "CLUSTER_", "COMPAT", "FAULTS", "CONFORMANCE_", "SERVICE_", "PORT"}, func(p string) bool { return strings.HasPrefix(rest, p) }) {
			continue
		}
		hint := ""
		if near := Nearest(strings.ToLower(rest), known); near != "" {
			hint = Variable(near)
		}
		log.Warn("environment variable is not a setting", "variable", name, "did_you_mean", hint)
	}
}

// suggest returns the end of a message about an unknown name.
func suggest(name string, known []string) string {
	if near := Nearest(strings.ReplaceAll(name, "-", "_"), known); near != "" {
		return fmt.Sprintf(" (did you mean %s?)", near)
	}
	return " (bulkload config show lists the settings)"
}

// Nearest returns the known name with the fewest differences, at most about a third of its letters, or "".
func Nearest(name string, known []string) string {
	old := func(k string) bool {
		return slices.ContainsFunc(Renames(), func(r Rename) bool { return Snake(r.Old) == k })
	}
	if near := keygen.Nearest(name, slices.DeleteFunc(slices.Clone(known), old)); len(near) > 0 {
		return near[0]
	}
	return ""
}

// Flag returns the command line form of a setting that a library names: its flag, or the field of a job file that has
// no flag.
func Flag(n setting.Name) string {
	if f, ok := spec.FieldOf(string(n)); ok && f.Type != spec.FieldSettings {
		if f.Usage == "" {
			return f.Name
		}
		return "--" + f.Flag()
	}
	return "--" + strings.ReplaceAll(string(n), "_", "-")
}

// FlagOf returns [Flag] for the messages of a command, where a field of a job file whose flag the command lacks has its name in the file. nil is any
// command.
func FlagOf(cmd *cobra.Command) func(setting.Name) string {
	return func(n setting.Name) string {
		flag := Flag(n)
		if f, ok := spec.FieldOf(string(n)); ok && f.Type != spec.FieldSettings && cmd != nil && cmd.Flags().Lookup(strings.TrimPrefix(flag, "--")) == nil {
			return f.Name
		}
		return flag
	}
}

// Spoken returns a text of a library, in the form of journals and other files, with settings named as flags.
func Spoken(text string) string { return setting.Parse(text).In(Flag) }

// spokenError is an error of a library in the words of the command line.
type spokenError struct {
	err  error
	text string
}

func (e spokenError) Error() string { return e.text }
func (e spokenError) Unwrap() error { return e.err }

// SpokenError returns an error whose message names settings by [FlagOf] a command. It wraps err.
func SpokenError(cmd *cobra.Command, err error) error {
	if err == nil || len(setting.Of(err)) == 0 {
		return err
	}
	text := setting.In(err, FlagOf(cmd))
	if text == err.Error() {
		return err
	}
	return spokenError{err, text}
}

// SpokenValue returns a value that a library reports. In an error or a text it names settings by [FlagOf] a command; any
// other value is unchanged.
func SpokenValue(cmd *cobra.Command, v any) any {
	switch v := v.(type) {
	case error:
		return SpokenError(cmd, v)
	case setting.Text:
		return v.In(FlagOf(cmd))
	}
	return v
}
