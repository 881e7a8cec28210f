package build

import (
	"errors"
	"fmt"
	"maps"
	"regexp"

	"bulkload/internal/formats/spool"
)

// StreamRecord is what became of the copy of a stream on local disk.
type StreamRecord struct {
	Input string        `json:"input"`           // as it was given
	Place string        `json:"place"`           // by which it is known, see StreamPlaces
	Copy  string        `json:"copy"`            // the file; empty: it is gone
	Read  *spool.Digest `json:"read,omitempty"`  // what was read
	Whole bool          `json:"whole,omitempty"` // that was all of the stream
}

// StreamState is what earlier attempts say of a stream.
type StreamState struct {
	Input  string
	Copy   string        // the file, empty if there is none
	Whole  bool          // the copy has all of the stream
	Digest *spool.Digest // of all of the stream; nil: no attempt has read that
	Read   int64         // bytes that an attempt has read that failed within the stream
}

// NoteStream takes a record of a stream into account, and gives the states by place.
func NoteStream(states map[string]StreamState, r StreamRecord) map[string]StreamState {
	if states == nil {
		states = map[string]StreamState{}
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

// DropStreams removes the copies of streams, when nothing will read them again.
func DropStreams(states map[string]StreamState, j *StreamJob) error {
	var errs []error
	for place, s := range maps.Clone(states) {
		if s.Copy == "" {
			continue
		}
		err := j.Remove(s.Copy)
		if err == nil {
			err = j.Note(StreamRecord{Input: s.Input, Place: place})
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// StdinInput is the input that is standard input.
const StdinInput = "-"

// openDescriptor is a file that the process was started with, as shells name pipes that they make: <(mysql …).
var openDescriptor = regexp.MustCompile(`^/(dev|proc/self)/fd/\d+$`)

// StreamPlaces are the inputs that are known by other places than paths, by their ordinals: standard input, wherever the
// process was started, and open descriptors, whose numbers are the shell's.
func StreamPlaces(inputs []string) map[int]string {
	places := map[int]string{}
	descriptors := 0
	for i, input := range inputs {
		switch {
		case input == StdinInput:
			places[i] = StdinInput
		case openDescriptor.MatchString(input):
			descriptors++
			places[i] = fmt.Sprintf("/dev/fd/#%d", descriptors)
		}
	}
	return places
}
