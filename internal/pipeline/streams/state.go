package streams

import (
	"errors"
	"fmt"
	"maps"
	"regexp"

	"bulkload/internal/formats/spool"
)

// Record is the state of a stream's copy on local disk.
type Record struct {
	Input string        `json:"input"`           // as the user gave it
	Place string        `json:"place"`           // identifies the stream, see [Places]
	Copy  string        `json:"copy"`            // the file; empty: it is removed
	Read  *spool.Digest `json:"read,omitempty"`  // the data read
	Whole bool          `json:"whole,omitempty"` // Read covers the whole stream
}

// State is the state of a stream from earlier attempts.
type State struct {
	Input  string
	Copy   string        // the file, empty if there is none
	Whole  bool          // the copy is complete
	Digest *spool.Digest // of the whole stream; nil: no attempt has read all of it
	Read   int64         // bytes read by an attempt that failed within the stream
}

// Note applies a record of a stream, and returns the states by place.
func Note(states map[string]State, r Record) map[string]State {
	if states == nil {
		states = map[string]State{}
	}
	s := states[r.Place]
	s.Input, s.Copy, s.Whole = r.Input, r.Copy, r.Whole && r.Copy != ""
	switch {
	case r.Read == nil:
	case r.Whole:
		s.Digest = r.Read
	default:
		s.Read = r.Read.Bytes
	}
	states[r.Place] = s
	return states
}

// Drop removes the copies of streams, when they will not be read again.
func Drop(states map[string]State, j *Job) error {
	var errs []error
	for place, s := range maps.Clone(states) {
		if s.Copy == "" {
			continue
		}
		err := j.Remove(s.Copy)
		if err == nil {
			err = j.Note(Record{Input: s.Input, Place: place})
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// Stdin is the name of the input that is standard input.
const Stdin = "-"

// openDescriptor matches a file that the process was started with, as shells name the pipes that they create: <(mysql …).
var openDescriptor = regexp.MustCompile(`^/(dev|proc/self)/fd/\d+$`)

// Places returns the inputs that are identified by names other than paths, by their ordinals: standard input,
// wherever the process was started, and open descriptors, whose numbers the shell assigns.
func Places(inputs []string) map[int]string {
	places := map[int]string{}
	descriptors := 0
	for i, input := range inputs {
		switch {
		case input == Stdin:
			places[i] = Stdin
		case openDescriptor.MatchString(input):
			descriptors++
			places[i] = fmt.Sprintf("/dev/fd/#%d", descriptors)
		}
	}
	return places
}
