package main

import (
	"fmt"
	"io"
	"sync"

	"bulkload/pkg/progress"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
	"golang.org/x/term"
)

// liveView draws a job's progress on a terminal, below the log. The library does the drawing: when, over what it drew
// before, and with the log's lines above. It has one bar, whose rows are all that is to be seen.
type liveView struct {
	session *session
	library *mpb.Progress
	bar     *mpb.Bar
	colours bool

	mu   sync.Mutex
	rows []string // of the frame that is being drawn, below the first
	last *outcome // not nil: the job has ended
}

func newLiveView(s *session) *liveView {
	v := &liveView{session: s, colours: colours()}
	v.library = mpb.New(mpb.WithOutput(s.console.file))
	v.bar = v.library.MustAdd(0, mpb.BarFillerFunc(v.first), mpb.BarFillerTrim(), mpb.BarExtender(mpb.BarFillerFunc(v.others), false))
	s.console.through(v.library)
	return v
}

// events are none: the view looks at the session's tracker.
func (v *liveView) events() progress.Events { return progress.Events{} }

// end draws the last frame, which stays.
func (v *liveView) end(o outcome) error {
	v.mu.Lock()
	v.last = &o
	v.mu.Unlock()
	v.bar.Abort(false)
	v.library.Wait()
	v.session.console.through(nil)
	return nil
}

// first begins a frame and draws its first row.
func (v *liveView) first(w io.Writer, s decor.Statistics) error {
	_, height, err := term.GetSize(int(v.session.console.file.Fd()))
	if err != nil {
		return err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	f := frame{progress: v.session.tracker.Progress(), width: s.AvailableWidth - 1, height: height - 1, colours: v.colours}
	if v.last != nil {
		f.ended, f.failed = true, v.last.err != nil
	}
	if v.rows = f.rows(); len(v.rows) == 0 {
		return nil
	}
	_, err = io.WriteString(w, v.rows[0])
	v.rows = v.rows[1:]
	return err
}

// others draws the other rows.
func (v *liveView) others(w io.Writer, _ decor.Statistics) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, row := range v.rows {
		if _, err := fmt.Fprintln(w, row); err != nil {
			return err
		}
	}
	return nil
}
