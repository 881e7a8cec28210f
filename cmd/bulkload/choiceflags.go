package main

import (
	"bulkload/internal/cli/settings"
	"bulkload/internal/model/choice"

	"github.com/spf13/pflag"
)

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

// choice returns the selection that the flags specify.
func (o *choiceFlags) choice() choice.Asked {
	a := o.asked
	if o.only != "" {
		a.Only = settings.SplitList(o.only)
	}
	return a
}
