package main

import (
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"golang.org/x/term"
)

// progressFlags say how a job's progress is shown.
type progressFlags struct {
	mode string
}

func (p *progressFlags) add(f *pflag.FlagSet) {
	f.StringVar(&p.mode, "progress", "auto", "live: a view that is drawn again and again; lines: one in the log every 30 s; off; or auto: live where standard error is a terminal")
}

// observer is the one that was asked for, nil for none. A live view needs a terminal that can move its cursor.
func (p *progressFlags) observer(s *session) (observer, error) {
	if !slices.Contains([]string{"auto", "live", "lines", "off"}, p.mode) {
		return nil, usageError{fmt.Errorf("--progress %q is none of auto, live, lines, off", p.mode)}
	}
	switch {
	case p.mode == "off" || s.quiet:
		return nil, nil
	case p.mode != "lines" && canDraw(s.console.file):
		return newLiveView(s), nil
	}
	return newProgressLines(s), nil
}

// canDraw says whether a live view can stand there.
func canDraw(f *os.File) bool {
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

// colours says whether a person wants any (no-color.org).
func colours() bool {
	return os.Getenv("NO_COLOR") == "" && !strings.HasSuffix(os.Getenv("TERM"), "-m")
}
