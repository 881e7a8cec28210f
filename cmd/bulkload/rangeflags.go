package main

import (
	"errors"
	"fmt"

	"bulkload/internal/cli/settings"
	"bulkload/internal/model/choice"
	"bulkload/internal/model/keyrange"
	"bulkload/internal/serve/query"
	"bulkload/pkg/keygen/rowkey"
	"bulkload/pkg/loader"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// rangeFlags are the flags of a range of rows, by original keys or by bytes of row keys.
type rangeFlags struct {
	from, to, prefix              string
	startRow, stopRow, rowsPrefix string
}

func (o *rangeFlags) add(f *pflag.FlagSet) {
	settings.Bind(f, settings.To{"from": &o.from, "to": &o.to, "prefix": &o.prefix, "start-row": &o.startRow, "stop-row": &o.stopRow, "row-prefix": &o.rowsPrefix})
}

// byKey reports whether a flag bounds the original keys.
func (o *rangeFlags) byKey() bool { return o.from+o.to+o.prefix != "" }

func (o *rangeFlags) query(cmd *cobra.Command) (query.Query, error) {
	var q query.Query
	var errs []error
	given := func(name string) bool { return cmd.Flags().Changed(name) }
	values := func(name, text string) []string {
		if !given(name) {
			return nil
		}
		v, err := keyrange.ParseValues(text)
		if err != nil {
			errs = append(errs, settings.AboutFlags(fmt.Errorf("--%s %q: %w", name, text, err), name))
		}
		return v
	}
	row := func(name, text string) []byte {
		b, err := rowkey.Parse(text)
		if err != nil {
			errs = append(errs, settings.AboutFlags(fmt.Errorf("--%s %q: %w", name, text, err), name))
		}
		q.Raw = q.Raw || given(name)
		return b
	}
	q.From, q.To, q.Prefix = values("from", o.from), values("to", o.to), values("prefix", o.prefix)
	q.StartRow, q.StopRow = row("start-row", o.startRow), row("stop-row", o.stopRow)
	prefix := row("row-prefix", o.rowsPrefix)
	if given("row-prefix") {
		if given("start-row") || given("stop-row") {
			errs = append(errs, settings.AboutFlags(errors.New("--row-prefix excludes --start-row and --stop-row"), "row-prefix", "start-row", "stop-row"))
		}
		q.StartRow, q.StopRow = prefix, loader.PrefixEnd(prefix)
	}
	return q, errors.Join(errs...)
}

// choiceFlags are the flags that select the cells of a table to read.
type choiceFlags struct {
	asked choice.Asked
	only  string
}

func (o *choiceFlags) add(f *pflag.FlagSet) {
	a := &o.asked
	settings.Bind(f, settings.To{"from-key": &a.FromKey, "to-key": &a.ToKey, "key-prefix": &a.KeyPrefix, "start-row": &a.StartRow, "stop-row": &a.StopRow, "row-prefix": &a.RowPrefix,
		"since": &a.Since, "until": &a.Until, "only": &o.only})
}

func (o *choiceFlags) choice() choice.Asked {
	a := o.asked
	if o.only != "" {
		a.Only = settings.SplitList(o.only)
	}
	return a
}
