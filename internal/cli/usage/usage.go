package usage

import (
	"errors"
	"fmt"
	"strings"

	"bulkload/internal/base/abilities"
	"bulkload/internal/cli/ending"
	"bulkload/internal/cli/settings"
	"bulkload/internal/model/fail"
	"bulkload/pkg/setting"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Define gives a program with all of its commands their help, and the errors about unknown flags and subcommands.
func Define(root *cobra.Command) {
	root.SetFlagErrorFunc(flagError)
	addHelp(root)
	refuseUnknown(root)
	defineHelp(root)
}

// defineHelp defines --help of a command with subcommands, and of its groups. cobra looks for the subcommand before it does so, and takes the argument
// after a flag that it does not know for the flag's value.
func defineHelp(group *cobra.Command) {
	group.InitDefaultHelpFlag()
	for _, c := range group.Commands() {
		if c.HasSubCommands() {
			defineHelp(c)
		}
	}
}

// NoArgs refuses arguments of a command that takes flags only.
func NoArgs(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return nil
	case cmd.Flags().Lookup("input") != nil:
		return fail.Usage(fmt.Errorf("unexpected argument %q: did you mean --input %[1]s?", args[0]))
	}
	return fail.Usage(fmt.Errorf("unexpected argument %q: %s takes flags only", args[0], cmd.CommandPath()))
}

// flagError returns the error for an unknown flag, with the most similar flag as a suggestion.
func flagError(cmd *cobra.Command, err error) error {
	if invalid, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		return fail.Usage(settings.FlagValue(invalid))
	}
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok {
		return fail.Usage(err)
	}
	var known []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
	name := unknown.GetSpecifiedName()
	if why := abilities.Lacks(cmd.Name(), setting.Name(settings.FieldName(name))); why != nil {
		return fail.Usage(settings.SpokenError(cmd, fmt.Errorf("unknown flag --%s: %w", name, why)))
	}
	if near := settings.Nearest(name, known); near != "" && len(name) > 1 {
		return fail.Usage(fmt.Errorf("unknown flag --%s: did you mean --%s?", name, near))
	}
	return fail.Usage(fmt.Errorf("%w: bulkload help %s lists the flags", err, ending.CommandName(cmd)))
}

// ExactArgs refuses other numbers of arguments than that of the names.
func ExactArgs(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != len(names) {
			return fail.Usage(fmt.Errorf("%s takes %s, %s: %d given", cmd.Name(), setting.Count(len(names), "argument"), strings.Join(names, " "), len(args)))
		}
		return nil
	}
}

// unknownCommand is the beginning of cobra's error about a command that does not exist.
const unknownCommand = "unknown command"

// Explain returns the error of a program that has run. If it is about an unknown command, that is in one line, with suggestions.
func Explain(root *cobra.Command, err error) error {
	if err == nil || !strings.HasPrefix(err.Error(), unknownCommand) {
		return err
	}
	text, _, _ := strings.Cut(err.Error(), "\n")
	if _, name, ok := strings.Cut(text, `"`); ok {
		name, _, _ = strings.Cut(name, `"`)
		if near := root.SuggestionsFor(name); len(near) > 0 {
			text += fmt.Sprintf(" (did you mean %s?)", strings.Join(near, " or "))
		}
	}
	return fail.Usage(errors.New(text))
}

// refuseUnknown makes a group of commands, such as table, return an error for an unknown subcommand. By default cobra
// prints the group's help and reports success.
func refuseUnknown(group *cobra.Command) {
	for _, c := range group.Commands() {
		if !c.HasSubCommands() {
			continue
		}
		refuseUnknown(c)
		if c.Runnable() {
			continue
		}
		c.Args = cobra.ArbitraryArgs
		c.RunE = func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			err := fmt.Errorf("unknown command %q for %s", args[0], cmd.CommandPath())
			if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
				err = fmt.Errorf("%w (did you mean %s?)", err, strings.Join(near, " or "))
			}
			return fail.Usage(err)
		}
	}
}
