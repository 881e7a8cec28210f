package main

import (
	"bulkload/internal/cli/ending"
	"bulkload/internal/cli/metrics"
	"bulkload/internal/cli/session"
	"bulkload/internal/cli/settings"
	"bulkload/internal/cli/usage"

	"github.com/spf13/cobra"
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
	f := root.PersistentFlags()
	g.Program.Add(f)
	g.profile.add(f)
	settings.AddFlags(f)
	root.AddCommand(newRunCmd(g), newBuildCmd(g), newMergeCmd(g), newPlanCmd(g), newInspectCmd(g), newCheckCmd(g), newLoadCmd(g), newUndoCmd(g), newDiffCmd(g), newCleanCmd(g), newStatusCmd(g), newGetCmd(g), newRekeyCmd(g), newScanCmd(g), newExportCmd(g), newCompareCmd(g), newServeCmd(g), newConsoleCmd(g), newKeyCmd(g), newTableCmd(g), newHFileCmd(g), newVersionCmd(g), newConfigCmd(g), newDemoCmd(g), newCompletionCmd(), newTaskCmd(g))
	settings.AddOldNames(root)
	addCompletions(root)
	root.InitDefaultVersionFlag()
	usage.Define(root)
	return root
}
