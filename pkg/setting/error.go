package setting

import (
	"fmt"
	"slices"
	"strings"
)

// A Naming is an error whose own message names settings. Its message may or may
// not include the messages of errors that it wraps.
type Naming interface {
	error
	Settings() []Name
	In(words func(Name) string) string // returns the message with each setting as words names it
}

// namingError is an error returned by [Errorf].
type namingError struct {
	err    error // from fmt.Errorf
	format string
	args   []any
}

// Errorf works like [fmt.Errorf]. The error is a [Naming] if args contain a
// setting or a [Text] with settings.
func Errorf(format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	own := slices.ContainsFunc(args, func(a any) bool {
		switch a := a.(type) {
		case Name:
			return true
		case Text:
			return len(a.args) > 0
		}
		return false
	})
	if !own {
		return err
	}
	return &namingError{err, format, slices.Clone(args)}
}

func (e *namingError) Error() string                     { return e.err.Error() }
func (e *namingError) Unwrap() error                     { return e.err }
func (e *namingError) Settings() []Name                  { return namesIn(e.args) }
func (e *namingError) In(words func(Name) string) string { return sayf(words, e.format, e.args) }

// Of returns the settings that an error and the errors that it wraps name, each once.
func Of(err error) []Name {
	var names []Name
	Each(err, func(e Naming) { names = merged(names, e.Settings()) })
	return names
}

// In returns an error's message, including the messages of wrapped errors, with
// each setting as words names it.
func In(err error, words func(Name) string) string {
	text := err.Error()
	Each(err, func(e Naming) {
		if own := e.Error(); own != "" {
			text = strings.ReplaceAll(text, own, e.In(words))
		}
	})
	return text
}

// Each calls do for every error of the type E in a tree of errors, outer errors first.
func Each[E error](err error, do func(E)) {
	if e, ok := err.(E); ok {
		do(e)
	}
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		Each(e.Unwrap(), do)
	case interface{ Unwrap() []error }:
		for _, inner := range e.Unwrap() {
			Each(inner, do)
		}
	}
}
