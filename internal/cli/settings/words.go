package settings

import (
	"strings"

	"bulkload/internal/model/spec"
	"bulkload/pkg/setting"
)

// Flag returns how a command line has a setting that a library names: its flag, or
// the field of a job file that no flag gives.
func Flag(n setting.Name) string {
	if f, ok := spec.FieldOf(string(n)); ok && f.Type != spec.FieldSettings {
		if f.Usage == "" {
			return f.Name
		}
		return "--" + f.Flag()
	}
	return "--" + strings.ReplaceAll(string(n), "_", "-")
}

// Spoken returns a text of a library, as journals and other files keep it, with settings as flags.
func Spoken(text string) string { return setting.Parse(text).In(Flag) }

// spokenError is an error of a library in the words of the command line.
type spokenError struct {
	err  error
	text string
}

func (e spokenError) Error() string { return e.text }
func (e spokenError) Unwrap() error { return e.err }

// SpokenError returns an error whose message has settings as flags. It wraps err.
func SpokenError(err error) error {
	if err == nil || len(setting.Of(err)) == 0 {
		return err
	}
	text := setting.In(err, Flag)
	if text == err.Error() {
		return err
	}
	return spokenError{err, text}
}

// SpokenValue returns a value that a library reports: an error or a text with
// settings as flags, and everything else as it is.
func SpokenValue(v any) any {
	switch v := v.(type) {
	case error:
		return SpokenError(v)
	case setting.Text:
		return v.In(Flag)
	}
	return v
}
