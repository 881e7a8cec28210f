package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"bulkload/internal/cli/session"
	"bulkload/internal/cli/settings"
	"bulkload/internal/cli/usage"
	"bulkload/internal/engine/history"
	"bulkload/internal/engine/status"
	"bulkload/internal/formats/spool"
	"bulkload/internal/formats/yamlfile"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/spec"
	"bulkload/pkg/keygen"
	"bulkload/pkg/loader"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func newCompletionCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "completion bash|zsh|fish",
		Short: "Print a completion script for a shell",
		Long: `Completion prints a script for a shell that completes commands, flags and the values
of flags. Release archives have the scripts in completions/.`,
		Example: `  . <(bulkload completion bash)                                     # this shell; needs the package bash-completion
  bulkload completion bash > /etc/bash_completion.d/bulkload        # all shells of this machine
  bulkload completion zsh > "${fpath[1]}/_bulkload"
  bulkload completion fish > ~/.config/fish/completions/bulkload.fish`,
		Args:      usage.ExactArgs("SHELL"),
		ValidArgs: []cobra.Completion{"bash", "zsh", "fish"},
		RunE: func(cmd *cobra.Command, args []string) error {
			w := cmd.OutOrStdout()
			switch args[0] {
			case "bash":
				return cmd.Root().GenBashCompletionV2(w, true)
			case "zsh":
				return cmd.Root().GenZshCompletion(w)
			case "fish":
				return cmd.Root().GenFishCompletion(w, true)
			}
			return fail.Usage(fmt.Errorf("shell %q is invalid: want bash, zsh or fish", args[0]))
		},
	}
}

// addCompletions registers the shell completion of the flags and arguments of a command and its subcommands. A flag
// or an argument without known values gets no completion: a list of files would mislead.
func addCompletions(cmd *cobra.Command) {
	cmd.NonInheritedFlags().VisitAll(func(f *pflag.Flag) {
		if _, ok := cmd.GetFlagCompletionFunc(f.Name); ok || f.Value.Type() == "bool" {
			return
		}
		words, files, dirs := settings.Completion(f)
		complete := cobra.NoFileCompletions
		switch {
		case f.Name == "recipe":
			complete = completeRecipes
		case f.Name == "job" && slices.Contains([]string{"clean", "status", "undo", "diff"}, cmd.Name()):
			complete = completeJobs
		case f.Name == "drop-old":
			complete = completeOld
		case f.Name == "table":
			complete = completeTables
		case f.Name == "columns" || f.Name == "query":
			complete = completeColumns
		case dirs:
			complete = cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs)
		case files && len(words) > 0:
			complete = cobra.FixedCompletions(words, cobra.ShellCompDirectiveFilterFileExt)
		case files:
			complete = cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault)
		case len(words) > 0:
			complete = cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)
		}
		_ = cmd.RegisterFlagCompletionFunc(f.Name, complete) // fails only for a flag that does not exist, or that has a completion
	})
	if cmd.ValidArgsFunction == nil && len(cmd.ValidArgs) == 0 && cmd.Parent() != nil && !cmd.HasSubCommands() {
		cmd.ValidArgsFunction = completeArgs(cmd)
	}
	for _, c := range cmd.Commands() {
		addCompletions(c)
	}
}

// completeArgs offers files to the commands whose arguments are files.
func completeArgs(cmd *cobra.Command) cobra.CompletionFunc {
	switch {
	case cmd.Parent().Name() == "hfile":
		return cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault)
	case cmd.Name() == "load":
		return cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs)
	}
	return cobra.NoFileCompletions
}

// completionTime is the longest time that a shell waits for the names of tables.
const completionTime = 3 * time.Second

// completeTables offers the cluster's tables. If the cluster does not answer, it offers nothing: a shell cannot show
// the error.
func completeTables(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(context.Background(), completionTime)
	defer cancel()
	g := &globals{Program: session.Program{Log: slog.New(slog.DiscardHandler)}}
	_ = settings.Command(cmd, g.Logger) // settings of the environment and of files; wrong ones do not matter here
	text := func(name string) string { return settings.ValueOf(cmd, name) }
	c := clusterFlags{zookeeper: text("zookeeper"), znode: text("znode"), hdfs: text("hdfs"), user: text("user"),
		identity: cluster.Identity{Principal: text("principal"), Keytab: text("keytab"), Cache: text("ticket-cache")}}
	var names []cobra.Completion
	_ = c.withCluster(ctx, g, func(c *loader.Cluster) error {
		tables, err := c.Tables(ctx)
		for _, t := range tables {
			names = append(names, t.String())
		}
		return err
	})
	return names, cobra.ShellCompDirectiveNoFileComp
}

// completeColumns offers the columns of the job file. After a comma it leaves out columns that are already listed.
func completeColumns(cmd *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	_ = settings.Command(cmd, func() *slog.Logger { return slog.New(slog.DiscardHandler) })
	before := typed[:strings.LastIndexByte(typed, ',')+1]
	var names []cobra.Completion
	if f := cmd.Flags().Lookup("job"); f != nil {
		if data, err := spool.ReadAtMost(cmd.Context(), f.Value.String(), yamlfile.MaxSize); err == nil {
			if s, err := spec.ParseSpec(f.Value.String(), data); err == nil {
				for _, c := range s.Columns {
					if !slices.Contains(strings.Split(before, ","), c) {
						names = append(names, before+c)
					}
				}
			}
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

func completeRecipes(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var names []cobra.Completion
	for _, r := range keygen.Recipes() {
		names = append(names, cobra.CompletionWithDesc(r.Name, r.About))
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// completeOld offers the old tables that were replaced and are still kept. If the state directory cannot be read, it
// offers nothing.
func completeOld(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var names []cobra.Completion
	jobs, _ := status.ReadAll(stateOf(cmd))
	for _, s := range jobs {
		if s.Fresh != nil && s.State == history.JobDone && s.Fresh.Old != history.OldDropped {
			names = append(names, cobra.CompletionWithDesc(s.Fresh.From, "--into "+s.Table))
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// stateOf returns the state directory of a command that is completed, by default the program's.
func stateOf(cmd *cobra.Command) string {
	_ = settings.Command(cmd, func() *slog.Logger { return slog.New(slog.DiscardHandler) }) // as in completeTables
	if dir := settings.ValueOf(cmd, "state"); dir != "" {
		return dir
	}
	dir, _ := status.DefaultState()
	return dir
}

// completeJobs offers the jobs of the state directory. If the directory cannot be read, it offers nothing: a shell
// cannot show the error.
func completeJobs(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	dir := stateOf(cmd)
	var names []cobra.Completion
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
