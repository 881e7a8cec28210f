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
	Path   string // of the innermost member that contains the fault and is on a wanted path; "" if there is none
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

// faultTexts has the messages of faults.
var faultTexts = [...]string{
	faultBlank:      "the line is blank",
	faultWholeFile:  ErrWholeFile.Error(),
	faultArray:      "the line is an array, not an object",
	faultScalar:     "the line is a single value, not an object",
	faultMark:       "a byte order mark stands before the object",
	faultNoObject:   "the line does not begin with {",
	faultEnd:        "the line ends within an object or an array",
	faultEndString:  "the line ends within a string",
	faultBehind:     "there is text after the object",
	faultName:       "a member's name in quotes is missing",
	faultColon:      "a colon is missing after a member's name",
	faultComma:      "a comma or } is missing after a member",
	faultCommaArray: "a comma or ] is missing after an array's element",
	faultLastComma:  "nothing follows a comma",
	faultValue:      "a value is missing, or begins with an invalid character",
	faultWord:       "a word that is not true, false or null",
	faultMinus:      "no digit follows the minus sign of a number",
	faultZero:       "a number has a leading zero",
	faultFraction:   "no digit follows the point of a number",
	faultExponent:   "no digit follows the exponent sign of a number",
	faultControl:    "a control character stands unescaped within a string",
	faultEscape:     "a backslash escape that JSON does not have",
	faultHex:        `four hex digits do not follow \u`,
	faultSurrogate:  `a \u escape is half of a surrogate pair`,
	faultUTF8:       "invalid UTF-8",
	faultTwice:      "a member's name occurs twice in an object",
	faultMany:       fmt.Sprintf("an object has more than %d members", maxMembers),
	faultDeep:       fmt.Sprintf("objects and arrays are nested deeper than %d", maxDepth),
	faultThrough:    "the value is not an object, and a member of it is wanted",
	faultBoth:       `the line has both a member of this name and one at this path: name both, and write a dot within a name as \.`,
}

// String returns the message of the fault.
func (f fault) String() string {
	if f > 0 && int(f) < len(faultTexts) {
		return faultTexts[f]
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
