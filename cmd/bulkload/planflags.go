package main

import (
	"errors"
	"fmt"
	"io"

	"bulkload/internal/cli/planview"
	"bulkload/internal/cli/settings"
	"bulkload/internal/cli/ui"
	"bulkload/internal/model/fail"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/pipeline/estimate"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// planFlags are the flags of every command that has a plan. They select the regions of the plan, its warnings, and
// its output.
type planFlags struct {
	estimate estimate.Options
	svg      string
}

// add registers the flags. The text with precedes each flag's usage.
func (o *planFlags) add(f *pflag.FlagSet, with string) {
	own := settings.To{"exact": &o.estimate.Exact, "suggest": &o.estimate.Suggest, "skew": &o.estimate.Skew, "max-file-size": &o.estimate.MaxRegion, "svg": &o.svg}
	settings.Bind(f, own)
	for flag := range own {
		f.Lookup(flag).Usage = with + f.Lookup(flag).Usage
	}
}

func (o *planFlags) check() error {
	if n := o.estimate.Suggest; n < 0 || n == 1 || n > 100_000 {
		return fail.Usage(settings.AboutFlags(fmt.Errorf("--suggest %d is outside 2..100000", n), "suggest"))
	}
	return nil
}

// goWith refuses the flags where the flag that asks for a plan is missing, or where a flag that excludes them is
// given.
func (o *planFlags) goWith(cmd *cobra.Command, but string) (err error) {
	var own pflag.FlagSet
	(&planFlags{}).add(&own, "")
	own.VisitAll(func(one *pflag.Flag) {
		if settings.Of(cmd).Given(one.Name) {
			err = errors.Join(err, fail.Usage(settings.AboutFlags(fmt.Errorf("--%s goes with --plan%s", one.Name, but), one.Name, "plan")))
		}
	})
	return err
}

func (o *planFlags) options(w build.WorkOptions) estimate.Options {
	e := o.estimate
	e.WorkOptions = w
	return e
}

// show draws a plan and prints it as text or JSON. If split points were suggested, they are printed instead of the text, which then goes to standard
// error.
func (o *planFlags) show(cmd *cobra.Command, g *globals, p planview.Plan) error {
	for _, t := range p.All() {
		t.Warnings = spokenChecks(t.Warnings)
	}
	if o.svg != "" {
		if err := p.Draw(o.svg); err != nil {
			return err
		}
	}
	out := cmd.OutOrStdout()
	if o.estimate.Suggest == 0 || g.JSON() {
		return g.Print(out, p, func(w io.Writer) { p.Print(w, ui.Width(out)) })
	}
	if g.ForPeople() {
		p.Print(ui.Plain(cmd.ErrOrStderr()), ui.Width(cmd.ErrOrStderr()))
	}
	p.PrintSplits(out)
	return nil
}
