package streams

import (
	"errors"
	"fmt"
	"maps"
	"regexp"

	"bulkload/internal/formats/spool"
)

// Record is the state of the copy of a stream on local disk.
type Record struct {
	Input string        `json:"input"`           // as it was given
	Place string        `json:"place"`           // by which it is known, see [Places]
	Copy  string        `json:"copy"`            // the file; empty: it is gone
	Read  *spool.Digest `json:"read,omitempty"`  // what was read
	Whole bool          `json:"whole,omitempty"` // that was all of the stream
}

// State has the records of earlier attempts about a stream.
type State struct {
	Input  string
	Copy   string        // the file, empty if there is none
	Whole  bool          // the copy has all of the stream
	Digest *spool.Digest // of all of the stream; nil: no attempt has read that
	Read   int64         // bytes that an attempt has read that failed within the stream
}

// Note takes a record of a stream into account, and gives the states by place.
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

// Drop removes the copies of streams, when nothing will read them again.
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

// Stdin is the input that is standard input.
const Stdin = "-"

// openDescriptor is a file that the process was started with, as shells name pipes that they make: <(mysql …).
var openDescriptor = regexp.MustCompile(`^/(dev|proc/self)/fd/\d+$`)

// Places returns the inputs that are known by other places than paths, by their ordinals: standard input, wherever the
// process was started, and open descriptors, whose numbers are the shell's.
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
