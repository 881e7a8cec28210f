package session

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"bulkload/pkg/setting"
)

// aboutData is an error about a value, a row key or similar data that its message leaves out: logs, results, reports and
// lineage events have more readers than the data.
type aboutData interface {
	error
	Data() []byte
}

// Limits of the data that is shown.
const (
	maxShown     = 200 // bytes of one value
	maxShownAll  = 10  // values
	maxErrorText = 16 << 10
)

// shownError is an error with the data that it is about.
type shownError struct {
	error
	data []string
}

func (e *shownError) Unwrap() error { return e.error }

func (e *shownError) Error() string {
	return e.error.Error() + " [data: " + strings.Join(e.data, ", ") + "]"
}

// showing adds the data to an error's message, if --show-data is given.
func (p *Program) showing(err error) error {
	if _, done := errors.AsType[*shownError](err); done || !p.ShowData || err == nil {
		return err
	}
	var data []string
	setting.Each(err, func(e aboutData) {
		b := e.Data()
		text := fmt.Sprintf("%q", b[:min(len(b), maxShown)])
		if len(b) > maxShown {
			text += "…"
		}
		if len(data) < maxShownAll {
			data = append(data, text)
		}
	})
	if len(data) == 0 {
		return err
	}
	return &shownError{err, data}
}

// bounded cuts a text to at most the given number of bytes, and marks the cut.
func bounded(text string, most int) string {
	if len(text) <= most {
		return text
	}
	end := most
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return fmt.Sprintf("%s … (%s more)", text[:end], setting.Count(len(text)-end, "byte"))
}
