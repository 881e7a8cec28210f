package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"bulkload/pkg/setting"
)

// lastLines returns where the last n lines of a text begin in data, its end; -1 if data does not contain them whole. A line feed at the end
// of the text ends its last line. begins says that data is the whole text.
func lastLines(data []byte, n int, begins bool) int {
	end := len(data)
	if bytes.HasSuffix(data, []byte{'\n'}) {
		end--
	}
	for range n {
		if end < 0 {
			break
		}
		end = bytes.LastIndexByte(data[:end], '\n')
	}
	switch {
	case end >= 0:
		return end + 1
	case begins:
		return 0
	}
	return -1
}

// errLastLines reports lines that are too long to be held in memory, where most is the limit of a record.
func errLastLines(n, most int) error {
	if n == 1 {
		return fmt.Errorf("the last line, which is left out, is longer than %s", setting.Count(most, "byte"))
	}
	return fmt.Errorf("the last %d lines, which are left out, are longer than %s each", n, setting.Count(most, "byte"))
}

// leaveLastLines finds the length of the last n lines of a file, which are not records. None may be longer than most bytes.
func (f *inputFile) leaveLastLines(ctx context.Context, n, most int) (err error) {
	if n == 0 || f.sequential() {
		return nil
	}
	file, raw, err := f.Open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	for window := int64(4 << 10); ; window *= 8 {
		from := max(0, f.Info.Size()-window)
		data := make([]byte, f.Info.Size()-from)
		if _, err := raw.ReadAt(data, from); err != nil && err != io.EOF {
			return fmt.Errorf("read %s at byte %d: %w", f.Path, from, err)
		}
		if at := lastLines(data, n, from == 0); at >= 0 {
			f.left = int64(len(data) - at)
			return nil
		}
		if window > int64(n+1)*int64(most) {
			return fmt.Errorf("%s: %w", f.Path, errLastLines(n, most))
		}
	}
}

// withoutLastLines reads a text without its last n lines.
type withoutLastLines struct {
	r    io.Reader
	n    int
	most int // the longest line in bytes
	held []byte
	free int // bytes of held that are not among the last lines
	err  error
}

func (w *withoutLastLines) Read(p []byte) (int, error) {
	for w.free == 0 && w.err == nil {
		at := len(w.held)
		w.held = append(w.held, make([]byte, 32<<10)...)
		var m int
		m, w.err = w.r.Read(w.held[at:])
		w.held = w.held[:at+m]
		// While more may follow, an unfinished line counts as one of the last.
		w.free = max(0, lastLines(w.held, w.n, false))
		if w.err != nil && w.err != io.EOF {
			w.free = 0
		} else if w.free == 0 && w.err == nil && len(w.held) > (w.n+1)*w.most {
			w.err = errLastLines(w.n, w.most)
		}
	}
	if w.free == 0 {
		return 0, w.err
	}
	m := copy(p, w.held[:w.free])
	w.held = w.held[:copy(w.held, w.held[m:])]
	w.free -= m
	return m, nil
}
