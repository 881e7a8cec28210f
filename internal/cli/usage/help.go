package usage

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"bulkload/internal/base/abilities"
	"bulkload/internal/cli/ending"
	"bulkload/internal/cli/settings"
	"bulkload/internal/model/fail"
	"bulkload/pkg/setting"
)

// helpWidth is the width of help texts in characters, helpLines the number of lines that fit a screen.
const helpWidth, helpLines = 110, 45

// addHelp sets the output of --help and of the command help. COMMAND --help fits a screen: a description, examples, and the flags that
// most jobs need. help COMMAND prints the whole text, and all flags by group.
func addHelp(root *cobra.Command) {
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) { shortHelp(cmd.OutOrStdout(), cmd) })
	root.SetHelpCommand(&cobra.Command{
		Use:   "help [COMMAND | exit-codes]",
		Short: "All about a command, or the exit codes",
		Long:  "Help prints all about a command, with its flags by group. COMMAND --help is shorter. Help exit-codes says what exit codes mean, and what to do then.",
		ValidArgsFunction: func(cmd *cobra.Command, _ []string, _ string) (names []string, _ cobra.ShellCompDirective) {
			for _, c := range cmd.Root().Commands() {
				if c.IsAvailableCommand() {
					names = append(names, c.Name())
				}
			}
			return append(names, "exit-codes"), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			out := cmd.OutOrStdout()
			if len(args) == 1 && args[0] == "exit-codes" {
				exitCodes(out)
				return nil
			}
			about, rest, err := cmd.Root().Find(args)
			if err != nil || about == nil || len(rest) > 0 {
				return fail.Usage(fmt.Errorf("unknown command %q: bulkload --help lists the commands", strings.Join(args, " ")))
			}
			about.InitDefaultHelpFlag()
			fullHelp(out, about)
			return nil
		},
	})
}

// shortHelp prints one screen about a command.
func shortHelp(out io.Writer, cmd *cobra.Command) {
	if cmd.HasAvailableSubCommands() {
		fullHelp(out, cmd)
		return
	}
	var b bytes.Buffer
	printUsage(&b, cmd)
	if flags := settings.Most(cmd.NonInheritedFlags()); flags.HasFlags() {
		title := "Flags:"
		if len(settings.Grouped(cmd.NonInheritedFlags())) > 1 {
			title = "Flags that most jobs need:"
		}
		fmt.Fprintf(&b, "\n%s\n%s", title, flags.FlagUsagesWrapped(helpWidth))
	}
	text := description(cmd)
	if strings.Count(text, "\n")+bytes.Count(b.Bytes(), []byte("\n")) > helpLines {
		text, _, _ = strings.Cut(text, "\n\n") // its first paragraph
	}
	fmt.Fprintf(out, "%s\n%s", text, &b)
	fmt.Fprintf(out, "\nAll flags, and more about %s: bulkload help %s. Exit codes: bulkload help exit-codes.\n", cmd.Name(), ending.CommandName(cmd))
}

func fullHelp(out io.Writer, cmd *cobra.Command) {
	fmt.Fprintln(out, description(cmd))
	printUsage(out, cmd)
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintln(out, "\nCommands:")
		for _, c := range cmd.Commands() {
			if c.IsAvailableCommand() || c.Name() == "help" {
				fmt.Fprintf(out, "  %-*s %s\n", cmd.NamePadding(), c.Name(), c.Short)
			}
		}
	}
	for _, g := range settings.Grouped(cmd.NonInheritedFlags()) {
		title := cmp.Or(g.Title, "Flags")
		if g.Flags.HasFlags() {
			fmt.Fprintf(out, "\n%s:\n%s", title, g.Flags.FlagUsagesWrapped(helpWidth))
		}
	}
	if cmd.HasAvailableInheritedFlags() {
		fmt.Fprintf(out, "\nFlags of every command:\n%s", cmd.InheritedFlags().FlagUsagesWrapped(helpWidth))
	}
	fmt.Fprintf(out, "\nAbout a command: bulkload COMMAND --help, or bulkload help COMMAND. Exit codes: bulkload help exit-codes.\n")
}

func description(cmd *cobra.Command) string {
	return strings.TrimSpace(cmp.Or(cmd.Long, cmd.Short))
}

func printUsage(out io.Writer, cmd *cobra.Command) {
	line := cmd.UseLine()
	if cmd.HasAvailableSubCommands() {
		line = cmd.CommandPath() + " COMMAND"
	}
	fmt.Fprintf(out, "\nUsage:\n  %s\n", line)
	if cmd.Example != "" {
		fmt.Fprintf(out, "\nExamples:\n%s\n", strings.TrimRight(cmd.Example, "\n"))
	}
}

func exitCodes(out io.Writer) {
	fmt.Fprintln(out, "Exit codes:")
	for _, s := range ending.Exits() {
		fmt.Fprintf(out, "  %-4d %s: %s\n", s.Code, s.Meaning, s.Next)
	}
}

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

// Values refuses a flag whose value is empty or looks like the next flag, as of a variable of a script that is not set: --job-id $ID --replace would be a job of
// the name --replace that replaces nothing, and --replace --into "$NEW" would replace the table in place. args are all arguments of the program.
func Values(root *cobra.Command, args []string) error {
	cmd, _, err := root.Find(args)
	if err != nil {
		return nil // cobra's own error has a suggestion
	}
	cmd.InitDefaultHelpFlag()
	cmd.InheritedFlags() // merges them into Flags
	for i := 0; i < len(args) && args[i] != "--"; i++ {
		name, value, joined := strings.Cut(args[i], "=")
		var f *pflag.Flag
		if long, ok := strings.CutPrefix(name, "--"); ok {
			f = cmd.Flags().Lookup(long)
		} else if len(name) == 2 && name[0] == '-' {
			f = cmd.Flags().ShorthandLookup(name[1:])
		}
		if f == nil || f.NoOptDefVal != "" || !joined && i+1 == len(args) {
			continue
		}
		if !joined {
			i++
			value = args[i]
		}
		if settings.Lacks(f, value) {
			return fail.Usage(fmt.Errorf("--%s is empty: give a value, or leave the flag out", f.Name))
		}
		if !joined && flagLike.MatchString(value) {
			return fail.Usage(fmt.Errorf("--%s has the value %s, which looks like a flag: give a value, or --%[1]s=%[2]s", f.Name, value))
		}
	}
	return nil
}

// flagLike matches arguments that look like flags. Keys of rows may begin with one dash, and separators be dashes.
var flagLike = regexp.MustCompile(`^--[a-z]`)

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
