package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"

	"bulkload/internal/cli/schema"
	"bulkload/internal/cli/settings"
	"bulkload/internal/cli/usage"
	"bulkload/internal/model/fail"
	"bulkload/pkg/hdfsio"

	"github.com/spf13/cobra"
)

func newConfigCmd(g *globals) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Where settings come from, and the schema of files for editors",
		Long: `The value of a setting comes from its flag; without the flag, from an environment
variable (BULKLOAD_ and the flag's name in capitals, with underscores); then from the
job file; then from the configuration file; otherwise it is the default.`,
	}
	cmd.AddCommand(newConfigShowCmd(g), newConfigSchemaCmd(g))
	return cmd
}

func newConfigShowCmd(g *globals) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show [--job FILE] [any flag of run]",
		Short: "Print every setting of run with its value and where it is from",
		Long: `Show prints the settings of a run with the same flags, environment, job file and
configuration file. Dates in paths are filled in. Passwords and tokens are masked.
Show connects to no cluster and opens no inputs.`,
		Example: `  bulkload config show --job examples/check.yaml --date 2017-10-12
  bulkload config show --job examples/check.yaml --output json`,
		Args: usage.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if _, err := hdfsio.LoadConf(os.LookupEnv); err != nil {
				return fail.Usage(err)
			}
			list := settings.List(cmd)
			v := struct {
				Schema   int                `json:"schema"`
				Settings []settings.Setting `json:"settings"`
			}{1, list}
			return g.Print(cmd.OutOrStdout(), v, func(w io.Writer) { printSettings(w, list) })
		},
	}
	cmd.Flags().AddFlagSet(newRunCmd(g).Flags())
	return cmd
}

func printSettings(w io.Writer, list []settings.Setting) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "setting\torigin\tvalue")
	for _, s := range list {
		value := s.Value
		if strings.ContainsAny(value, "\n\t\v\f") || value == "" {
			value = fmt.Sprintf("%q", value)
		}
		if value == `""` && s.Origin == "default" {
			value = "-"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\n", s.Name, s.Origin, value)
	}
	t.Flush()
}

func newConfigSchemaCmd(*globals) *cobra.Command {
	return &cobra.Command{
		Use:   "schema [job|config]",
		Short: "Print the JSON schema of the job file, or of the configuration file",
		Long: `Schema prints a JSON schema (draft 2020-12) with which editors complete and check
job files: put it into a file, and as the first line into a job file

  # yaml-language-server: $schema=bulkload.schema.json`,
		Example: `  bulkload config schema > bulkload.schema.json
  bulkload config schema config > bulkload-config.schema.json`,
		ValidArgs: []string{"job", "config"},
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 || len(args) == 1 && args[0] != "job" && args[0] != "config" {
				return fail.Usage(fmt.Errorf("unknown schema %q: want job or config", args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			s := schema.Job(cmd.Root())
			if len(args) == 1 && args[0] == "config" {
				s = schema.Config(cmd.Root())
			}
			out := json.NewEncoder(cmd.OutOrStdout())
			out.SetIndent("", "  ")
			return out.Encode(s)
		},
	}
}
