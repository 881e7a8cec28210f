package session

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"bulkload/pkg/setting"
)

// aboutData is an error that has a value, a row key or the like, which its message does not have: logs, results, reports and
// events of lineage go to more people than the data.
type aboutData interface {
	error
	Data() []byte
}

// Bounds of what is shown of data.
const (
	mostShown     = 200 // bytes of one value
	mostShownAll  = 10  // values
	mostErrorSaid = 16 << 10
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

// showing puts the data into an error's message, if --show-data asks for it.
func (p *Program) showing(err error) error {
	if _, done := errors.AsType[*shownError](err); done || !p.ShowData || err == nil {
		return err
	}
	var data []string
	gatherData(err, func(b []byte) {
		text := fmt.Sprintf("%q", b[:min(len(b), mostShown)])
		if len(b) > mostShown {
			text += "…"
		}
		if len(data) < mostShownAll {
			data = append(data, text)
		}
	})
	if len(data) == 0 {
		return err
	}
	return &shownError{err, data}
}

// gatherData goes through all errors that err wraps.
func gatherData(err error, found func([]byte)) {
	if e, ok := err.(aboutData); ok {
		found(e.Data())
	}
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		if inner := e.Unwrap(); inner != nil {
			gatherData(inner, found)
		}
	case interface{ Unwrap() []error }:
		for _, inner := range e.Unwrap() {
			gatherData(inner, found)
		}
	}
}

// bounded returns a text of at most so many bytes, with a mark where it is cut.
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
