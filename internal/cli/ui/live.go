package ui

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync"

	"bulkload/internal/model/progress"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
	"golang.org/x/term"
)

// Live draws a job's progress on a terminal, below the log. The mpb library does the drawing: it chooses the times,
// overwrites the previous frame, and keeps the log's lines above. It has one bar, whose rows are the whole view.
type Live struct {
	tracker *progress.Tracker
	console *Console
	library *mpb.Progress
	bar     *mpb.Bar
	colours bool

	mu            sync.Mutex
	rows          []string // rows of the current frame, below the first
	ended, failed bool     // the job has ended, with an error
}

func NewLive(tracker *progress.Tracker, c *Console) *Live {
	v := &Live{tracker: tracker, console: c, colours: colours()}
	v.library = mpb.New(mpb.WithOutput(c.File))
	v.bar = v.library.MustAdd(0, mpb.BarFillerFunc(v.first), mpb.BarFillerTrim(), mpb.BarExtender(mpb.BarFillerFunc(v.others), false))
	c.through(v.library)
	return v
}

// End draws the last frame, which stays.
func (v *Live) End(failed bool) {
	v.mu.Lock()
	v.ended, v.failed = true, failed
	v.mu.Unlock()
	v.bar.Abort(false)
	v.library.Wait()
	v.console.through(nil)
}

// first begins a frame and draws its first row.
func (v *Live) first(w io.Writer, s decor.Statistics) error {
	_, height, err := term.GetSize(int(v.console.File.Fd()))
	if err != nil {
		return err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	f := frame{progress: v.tracker.Progress(), width: s.AvailableWidth - 1, height: height - 1, colours: v.colours}
	f.ended, f.failed = v.ended, v.failed
	if v.rows = f.rows(); len(v.rows) == 0 {
		return nil
	}
	_, err = io.WriteString(w, v.rows[0])
	v.rows = v.rows[1:]
	return err
}

// others draws the other rows.
func (v *Live) others(w io.Writer, _ decor.Statistics) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, row := range v.rows {
		if _, err := fmt.Fprintln(w, row); err != nil {
			return err
		}
	}
	return nil
}

// CanDraw reports whether a file can show a live view.
func CanDraw(f *os.File) bool {
	info, err := f.Stat()
	if err != nil || info.Mode()&fs.ModeCharDevice == 0 || !term.IsTerminal(int(f.Fd())) {
		return false
	}
	if kind := os.Getenv("TERM"); kind == "" || kind == "dumb" {
		return false
	}
	width, height, err := term.GetSize(int(f.Fd()))
	return err == nil && width >= minViewWidth && height >= minViewHeight
}

// colours reports whether the user wants colours (no-color.org).
func colours() bool {
	return os.Getenv("NO_COLOR") == "" && !strings.HasSuffix(os.Getenv("TERM"), "-m")
}
