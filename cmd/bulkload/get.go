package main

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"slices"
	"unicode/utf8"

	"bulkload/pkg/job"
	"bulkload/pkg/loader"

	"github.com/spf13/cobra"
)

func newGetCmd(g *globals) *cobra.Command {
	s := &specFlags{}
	c := &clusterFlags{}
	var explain bool
	cmd := &cobra.Command{
		Use:   "get --job FILE VALUE…",
		Short: "Print the rows of a query key as JSON lines",
		Long: `Get computes the start of the row key from the values of the query columns, as the
readers of the table do, scans it and prints each row as a JSON object of its
columns, named family:qualifier if it has several families. A value that is not UTF-8 is printed as {"base64": "…"}.` + "\n" + exitHelp,
		Example: `  bulkload get --job examples/check.yaml A208848994
  bulkload get --job examples/opinion.yaml BN20170901001 02`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			spec, err := s.load(cmd)
			if err != nil {
				return err
			}
			env, err := c.open(g)
			if err != nil {
				return err
			}
			defer env.Close()
			w := bufio.NewWriter(cmd.OutOrStdout())
			st, err := job.Get(cmd.Context(), env, spec, args, func(r loader.Row) error { return writeRow(w, r) })
			if err != nil {
				return err
			}
			if explain {
				env.Log.Info("answered", "rows", st.Rows, "find_cluster", st.Dial, "scan", st.Scan)
			}
			return w.Flush()
		},
	}
	s.add(cmd.Flags())
	c.add(cmd.Flags())
	cmd.Flags().BoolVar(&explain, "explain", false, "log how long finding the cluster and reading the rows took")
	return cmd
}

// writeRow prints a row with its columns in the order of the table.
func writeRow(w *bufio.Writer, r loader.Row) error {
	w.WriteString(`{"rowkey":`)
	if err := writeValue(w, r.Key); err != nil {
		return err
	}
	several := len(r.Cells) > 0 && !bytes.Equal(r.Cells[0].Family, r.Cells[len(r.Cells)-1].Family)
	for _, c := range r.Cells {
		w.WriteByte(',')
		name := c.Qualifier
		if several {
			name = slices.Concat(c.Family, []byte{':'}, c.Qualifier)
		}
		if err := writeValue(w, name); err != nil {
			return err
		}
		w.WriteByte(':')
		if err := writeValue(w, c.Value); err != nil {
			return err
		}
	}
	_, err := w.WriteString("}\n")
	return err
}

func writeValue(w *bufio.Writer, v []byte) error {
	var x any = string(v)
	if !utf8.Valid(v) {
		x = map[string]string{"base64": base64.StdEncoding.EncodeToString(v)}
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // < and > are data here, not markup
	if err := e.Encode(x); err != nil {
		return err
	}
	_, err := w.Write(bytes.TrimSuffix(b.Bytes(), []byte{'\n'}))
	return err
}
