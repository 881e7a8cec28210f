package jsonlines

import (
	"errors"
	"fmt"
)

// ErrWholeFile is wrapped by the [Error] of a line that opens an array of objects, or that is only an opening brace or
// bracket. On a file's first line that is not blank, it means that the file is not JSON lines; on a later line it is a
// fault of that line.
var ErrWholeFile = errors.New("the file is one JSON array or a pretty-printed document, not JSON lines: jq -c '.[]' converts an array, jq -c . documents")

// An Error reports a line that is not a JSON object that this package accepts. It contains no part of any value.
type Error struct {
	Offset int    // of the fault, in bytes from the line's start
	Path   string // of the innermost member around the fault that is on a wanted path; "" if there is none
	Reason string
	err    error // ErrWholeFile or nil
}

func (e *Error) Error() string {
	if e.Path == "" {
		return fmt.Sprintf("JSON, byte %d of the line: %s", e.Offset, e.Reason)
	}
	return fmt.Sprintf("JSON, byte %d of the line, member %q: %s", e.Offset, e.Path, e.Reason)
}

// Unwrap returns [ErrWholeFile] or nil.
func (e *Error) Unwrap() error { return e.err }

// A fault is a kind of error. The zero value means no error.
type fault uint8

const (
	faultBlank fault = 1 + iota
	faultWholeFile
	faultArray
	faultScalar
	faultMark
	faultNoObject
	faultEnd
	faultEndString
	faultBehind
	faultName
	faultColon
	faultComma
	faultCommaArray
	faultLastComma
	faultValue
	faultWord
	faultMinus
	faultZero
	faultFraction
	faultExponent
	faultControl
	faultEscape
	faultHex
	faultSurrogate
	faultUTF8
	faultTwice
	faultMany
	faultDeep
	faultThrough
	faultBoth
)

// String returns the message of the fault.
func (f fault) String() string {
	switch f {
	case faultBlank:
		return "the line is blank"
	case faultWholeFile:
		return ErrWholeFile.Error()
	case faultArray:
		return "the line is an array, not an object"
	case faultScalar:
		return "the line is a single value, not an object"
	case faultMark:
		return "a byte order mark stands before the object"
	case faultNoObject:
		return "the line does not begin with {"
	case faultEnd:
		return "the line ends within an object or an array"
	case faultEndString:
		return "the line ends within a string"
	case faultBehind:
		return "there is text after the object"
	case faultName:
		return "a member's name in quotes is missing"
	case faultColon:
		return "a colon is missing after a member's name"
	case faultComma:
		return "a comma or } is missing after a member"
	case faultCommaArray:
		return "a comma or ] is missing after an array's element"
	case faultLastComma:
		return "nothing follows a comma"
	case faultValue:
		return "a value is missing, or begins with a character that none begins with"
	case faultWord:
		return "a word that is not true, false or null"
	case faultMinus:
		return "no digit follows the minus sign of a number"
	case faultZero:
		return "a number has a leading zero"
	case faultFraction:
		return "no digit follows the point of a number"
	case faultExponent:
		return "no digit follows the exponent sign of a number"
	case faultControl:
		return "a control character stands unescaped within a string"
	case faultEscape:
		return "a backslash escape that JSON does not have"
	case faultHex:
		return `four hex digits do not follow \u`
	case faultSurrogate:
		return `a \u escape is half of a surrogate pair`
	case faultUTF8:
		return "invalid UTF-8"
	case faultTwice:
		return "a member's name stands twice in an object"
	case faultMany:
		return fmt.Sprintf("an object has more than %d members", maxMembers)
	case faultDeep:
		return fmt.Sprintf("objects and arrays are nested deeper than %d", maxDepth)
	case faultThrough:
		return "the value is not an object, and a member of it is wanted"
	case faultBoth:
		return `the line has a member of this name, and one where its path leads: name both, a dot within a name as \.`
	}
	return fmt.Sprintf("fault %d", uint8(f))
}

// at returns the fault as an error at an offset of the line.
func (f fault) at(offset int, path string) *Error {
	e := &Error{Offset: offset, Path: path, Reason: f.String()}
	if f == faultWholeFile {
		e.err = ErrWholeFile
	}
	return e
}
