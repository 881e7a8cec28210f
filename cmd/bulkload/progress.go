package main

import (
	"bulkload/internal/cli/settings"
	"bulkload/internal/cli/ui"
	"bulkload/internal/model/progress"

	"github.com/spf13/pflag"
)

// progressFlags say how a job's progress is shown.
type progressFlags struct {
	mode string
}

func (p *progressFlags) add(f *pflag.FlagSet) {
	settings.Bind(f, settings.To{"progress": &p.mode})
}

// observer is the one that was asked for, nil for none. A live view needs a terminal that can move its cursor.
func (p *progressFlags) observer(s *session) (observer, error) {
	switch {
	case p.mode == "off" || s.quiet:
		return nil, nil
	case p.mode != "lines" && ui.CanDraw(s.console.File):
		v := ui.NewLive(&s.tracker, s.console)
		return shown{func(o outcome) { v.End(o.err != nil) }}, nil
	}
	lines := ui.NewLines(&s.tracker, s.log)
	return shown{func(outcome) { lines.End() }}, nil
}

// shown is a view of the session's progress. It looks at the tracker itself.
type shown struct{ stop func(outcome) }

func (shown) events() progress.Events { return progress.Events{} }

func (v shown) end(o outcome) error {
	v.stop(o)
	return nil
}
