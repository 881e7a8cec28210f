package usage

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"strings"

	"bulkload/internal/cli/ending"
	"bulkload/internal/cli/settings"
	"bulkload/internal/model/fail"

	"github.com/spf13/cobra"
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
