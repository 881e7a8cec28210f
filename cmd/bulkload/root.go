package main

import (
	"errors"
	"fmt"
	"strings"

	"bulkload/internal/base/abilities"
	"bulkload/internal/cli/ending"
	"bulkload/internal/cli/metrics"
	"bulkload/internal/cli/session"
	"bulkload/internal/cli/settings"
	"bulkload/internal/model/fail"
	"bulkload/pkg/setting"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// globals are the flags of every command.
type globals struct {
	session.Program
	out     *ending.Output // standard output; nil: cobra's default
	cores   int            // initial number of processors of the Go runtime; 0: it is left unchanged
	profile profileFlags
}

func newRootCmd(g *globals) *cobra.Command {
	this := thisBuild()
	g.Build = metrics.Build{Version: version, Revision: this.Revision, Go: this.Go}
	root := &cobra.Command{
		Use:   "bulkload",
		Short: "Fill HBase tables from exports, without Spark or MapReduce",
		Long: `bulkload reads exports (CSV, 0x01/0x10 dumps, JSON lines, Parquet, ORC, Avro), tables
and snapshots, makes row keys, sorts the rows by the table's regions in fixed memory,
writes one HFile for each region as HBase itself would, uploads them to HDFS, loads
them and verifies what is visible.`,
		Version:           this.String(),
		SilenceUsage:      true,
		SilenceErrors:     true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error { return g.Prepare(cmd) },
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetFlagErrorFunc(flagError)
	f := root.PersistentFlags()
	g.Program.Add(f)
	g.profile.add(f)
	settings.AddFlags(f)
	root.AddCommand(newRunCmd(g), newBuildCmd(g), newMergeCmd(g), newPlanCmd(g), newInspectCmd(g), newCheckCmd(g), newLoadCmd(g), newUndoCmd(g), newDiffCmd(g), newCleanCmd(g), newStatusCmd(g), newGetCmd(g), newRekeyCmd(g), newScanCmd(g), newExportCmd(g), newCompareCmd(g), newServeCmd(g), newConsoleCmd(g), newKeyCmd(g), newTableCmd(g), newHFileCmd(g), newVersionCmd(g), newConfigCmd(g), newDemoCmd(g), newCompletionCmd(), newTaskCmd(g))
	addHelp(root)
	refuseUnknown(root)
	settings.AddOldNames(root)
	addCompletions(root)
	root.InitDefaultVersionFlag()
	defineHelp(root)
	return root
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

func noArgs(cmd *cobra.Command, args []string) error {
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

func exactArgs(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != len(names) {
			return fail.Usage(fmt.Errorf("%s takes %s, %s: %d given", cmd.Name(), setting.Count(len(names), "argument"), strings.Join(names, " "), len(args)))
		}
		return nil
	}
}

// unknownCommand is the beginning of cobra's error about a command that does not exist.
const unknownCommand = "unknown command"

// nearestCommand returns that error in one line, with suggestions.
func nearestCommand(root *cobra.Command, err error) error {
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
