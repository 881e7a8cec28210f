package settings

import (
	"strings"

	"bulkload/internal/model/spec"
	"bulkload/pkg/setting"

	"github.com/spf13/cobra"
)

// Flag returns the command line form of a setting that a library names: its flag, or the field of a job file that has
// no flag.
func Flag(n setting.Name) string {
	if f, ok := spec.FieldOf(string(n)); ok && f.Type != spec.FieldSettings {
		if f.Usage == "" {
			return f.Name
		}
		return "--" + f.Flag()
	}
	return "--" + strings.ReplaceAll(string(n), "_", "-")
}

// FlagOf returns [Flag] for the messages of a command, where a field of a job file whose flag the command lacks has its name in the file. nil is any
// command.
func FlagOf(cmd *cobra.Command) func(setting.Name) string {
	return func(n setting.Name) string {
		flag := Flag(n)
		if f, ok := spec.FieldOf(string(n)); ok && f.Type != spec.FieldSettings && cmd != nil && cmd.Flags().Lookup(strings.TrimPrefix(flag, "--")) == nil {
			return f.Name
		}
		return flag
	}
}

// Spoken returns a text of a library, in the form of journals and other files, with settings named as flags.
func Spoken(text string) string { return setting.Parse(text).In(Flag) }

// spokenError is an error of a library in the words of the command line.
type spokenError struct {
	err  error
	text string
}

func (e spokenError) Error() string { return e.text }
func (e spokenError) Unwrap() error { return e.err }

// SpokenError returns an error whose message names settings by [FlagOf] a command. It wraps err.
func SpokenError(cmd *cobra.Command, err error) error {
	if err == nil || len(setting.Of(err)) == 0 {
		return err
	}
	text := setting.In(err, FlagOf(cmd))
	if text == err.Error() {
		return err
	}
	return spokenError{err, text}
}

// SpokenValue returns a value that a library reports. In an error or a text it names settings by [FlagOf] a command; any
// other value is unchanged.
func SpokenValue(cmd *cobra.Command, v any) any {
	switch v := v.(type) {
	case error:
		return SpokenError(cmd, v)
	case setting.Text:
		return v.In(FlagOf(cmd))
	}
	return v
}
