package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"bulkload/internal/cli/settings"
	"bulkload/internal/cli/usage"
	"bulkload/internal/formats/spool"
	"bulkload/internal/hbase/table"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/estimate"
	"bulkload/pkg/keygen"
	"bulkload/pkg/loader"
	"bulkload/pkg/partition"
	"bulkload/pkg/setting"

	"github.com/spf13/cobra"
)

type adviseOptions struct {
	key        string
	table      string
	plan       string
	rows       int64
	rowBytes   float64
	rowsPerDay int64
	options    table.AdviceOptions
}

func newTableAdviseCmd(g *globals) *cobra.Command {
	o := &adviseOptions{}
	cmd := &cobra.Command{
		Use:   "advise",
		Short: "Advise a number of regions, with reasons and the statement that makes the table",
		Long: `Advise recommends a number of regions for a new table, from its size, its growth,
the number of servers and how the table is read. Sizes are those of HFiles: --plan
takes them from the JSON of bulkload plan, or give --rows and --row-bytes, or --bytes.`,
		Example: `  bulkload plan --job examples/check.yaml --input check.csv --splits salt:10 --output json > plan.json
  bulkload table advise --job examples/check.yaml --plan plan.json --rows 50000000 --rows-per-day 500000 --servers 5
  bulkload table advise --table orders --key 'md5hex(id) + id' --bytes 100GiB --access throughput --servers 12`,
		Args: usage.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd, g) },
	}
	f := cmd.Flags()
	settings.Bind(f, settings.To{
		"job": new(string), "key": &o.key, "table": &o.table, "plan": &o.plan, "rows": &o.rows, "row-bytes": &o.rowBytes, "bytes": (*spec.Size)(&o.options.Bytes), "rows-per-day": &o.rowsPerDay, "days": &o.options.Days, "servers": &o.options.Servers,
		"access": (*string)(&o.options.Access), "max-file-size": (*spec.Size)(&o.options.MaxFileSize),
	})
	return cmd
}

func (o *adviseOptions) run(cmd *cobra.Command, g *globals) error {
	given := settings.Of(cmd).JobSpec()
	if o.key != "" {
		given.Key = o.key
	}
	if o.table != "" {
		given.Table = o.table
	}
	options := o.options
	if given.Key != "" {
		var err error
		if options.Key, err = keygen.Parse(given.Key); err != nil {
			return fail.Usage(&spec.FieldError{Field: "key", Err: err})
		}
	}
	if err := o.sizes(cmd.Context(), &options); err != nil {
		return fail.Usage(err)
	}
	a, err := table.Advise(options)
	if err != nil {
		return fail.Usage(err)
	}
	for _, texts := range [][]setting.Text{a.Reasons, a.Warnings} {
		for i, text := range texts {
			texts[i] = text.As(settings.Flag)
		}
	}
	statement, err := o.statement(&given, a)
	if err != nil {
		return fail.Usage(err)
	}
	v := struct {
		*table.Advice
		Statement string `json:"statement"`
	}{a, statement}
	return g.Print(cmd.OutOrStdout(), v, func(w io.Writer) { printAdvice(w, &given, a, statement) })
}

// sizes determines the size of the table and its growth.
func (o *adviseOptions) sizes(ctx context.Context, a *table.AdviceOptions) error {
	rows, rowBytes := o.rows, o.rowBytes
	if o.plan != "" {
		var e estimate.Estimate
		text, err := spool.ReadFile(ctx, o.plan)
		if err == nil {
			if e1 := json.Unmarshal(text, &e); e1 != nil {
				err = fmt.Errorf("it is not the JSON of bulkload plan: %w", e1)
			}
		}
		if err != nil {
			return settings.AboutFlags(fmt.Errorf("--plan %s: %w", o.plan, err), "plan")
		}
		if e.Rows == 0 || e.HFileBytes == 0 {
			return settings.AboutFlags(fmt.Errorf("--plan %s has no rows", o.plan), "plan")
		}
		rows = cmp.Or(rows, e.Rows)
		if rowBytes == 0 {
			rowBytes = float64(e.HFileBytes) / float64(e.Rows)
		}
	}
	if rows < 0 || rowBytes < 0 || o.rowsPerDay < 0 {
		return errors.New("rows and bytes must not be negative")
	}
	if a.Bytes == 0 {
		a.Bytes = int64(float64(rows) * rowBytes)
	} else if rowBytes == 0 && rows > 0 {
		rowBytes = float64(a.Bytes) / float64(rows)
	}
	if o.rowsPerDay > 0 && rowBytes == 0 {
		return settings.AboutFlags(errors.New("--rows-per-day needs the size of a row: give --row-bytes, --plan, or --bytes with --rows"), "rows-per-day", "row-bytes", "plan", "bytes", "rows")
	}
	a.Growth = int64(float64(o.rowsPerDay) * rowBytes)
	if a.Bytes == 0 && a.Growth == 0 {
		return settings.AboutFlags(errors.New("advice needs a size: give --bytes, --plan, or --rows and --row-bytes"), "bytes", "plan", "rows", "row-bytes")
	}
	return nil
}

// statement returns the HBase shell statement that creates the table.
func (o *adviseOptions) statement(spec *spec.Spec, a *table.Advice) (string, error) {
	name, err := loader.ParseTableName(cmp.Or(spec.Table, "TABLE"))
	if err != nil {
		return "", err
	}
	points, err := partition.ParsePlan(a.Splits)
	if err != nil {
		return "", err
	}
	t := loader.TableSpec{Name: name, SplitKeys: points, Attributes: map[string]string{}}
	for _, family := range spec.Families() {
		t.Families = append(t.Families, loader.Family{Name: family, Compression: "SNAPPY", Encoding: "FAST_DIFF", Bloom: "ROW"})
	}
	if size := o.options.MaxFileSize; size > 0 {
		t.Attributes["MAX_FILESIZE"] = fmt.Sprint(size)
	}
	return table.Statement(t), nil
}

func printAdvice(w io.Writer, spec *spec.Spec, a *table.Advice, statement string) {
	fmt.Fprintf(w, "%s, of %s each at the end of the period\n", setting.Count(a.Regions, "region"), setting.Bytes(a.RegionBytes))
	for _, r := range a.Reasons {
		fmt.Fprintf(w, "  - %s\n", r)
	}
	for _, r := range a.Warnings {
		fmt.Fprintf(w, "  warning: %s\n", r)
	}
	fmt.Fprintf(w, "\nin HBase's shell:\n%s\n", statement)
	if spec.Table != "" && a.Splits != "" {
		fmt.Fprintf(w, "\nor: bulkload table create %s --family %s --splits %s\n", spec.Table, strings.Join(spec.Families(), " --family "), a.Splits)
	}
}
