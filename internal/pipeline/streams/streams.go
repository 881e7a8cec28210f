package streams

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"regexp"
	"slices"

	"bulkload/internal/formats/spool"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/spec"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/setting"
	"bulkload/pkg/source"
	"bulkload/pkg/source/listing"
)

// maxStreams limits the streams of a job: they are copied in parallel, each with its own buffers.
const maxStreams = 64

// Inputs are the inputs of a job that are read once and from the front: standard input and named pipes. [Inputs.Keep]
// copies them into files of the spill directory, which stand for them from then on.
type Inputs struct {
	list    []*stream
	byInput map[string]*stream
	open    source.Resolve
	used    int64 // bytes that the copies take
}

// stream is one of them, or standard input that is a file.
type stream struct {
	input  int    // its ordinal
	given  string // as it was given
	place  string
	name   string // in its file system
	below  source.FS
	absent error // why nothing can be read of it; nil: there is a stream
	info   fs.FileInfo
	begin  func(context.Context) (io.ReadCloser, error)

	file   *spool.File // from which the job reads; nil: there is none
	digest spool.Digest
	plain  bool // the file itself, not a copy
}

// describe returns the stream in messages.
func (s *stream) describe() string {
	if s.given == Stdin {
		return "standard input"
	}
	return "the pipe " + s.given
}

// Find looks which inputs are streams, and reads nothing. An input that was a stream for an earlier attempt, which
// known says, and is not there any more is one too. stdin is nil for the process's own.
func Find(ctx context.Context, open source.Resolve, inputs []string, stdin *os.File, known map[string]State) (*Inputs, error) {
	s := &Inputs{byInput: map[string]*stream{}, open: open}
	places := Places(inputs)
	for i, input := range inputs {
		if input == Stdin {
			one := stdinStream(stdin, known)
			one.input = i
			if err := s.add(one); err != nil {
				return nil, err
			}
			continue
		}
		fsys, name, err := open(input)
		if _, local := fsys.(hdfsio.Local); err != nil || !local {
			continue // listing the inputs says what is wrong
		}
		place := cmp.Or(places[i], name)
		info, err := os.Stat(name)
		one := &stream{input: i, given: input, place: place, name: name, below: fsys, info: info}
		_, was := known[place]
		switch {
		case err == nil && info.Mode()&fs.ModeNamedPipe != 0:
			if err := listing.CheckName(input); err != nil {
				return nil, fail.With(fail.Input, fmt.Errorf("input %s: %w", input, err))
			}
			one.begin = func(ctx context.Context) (io.ReadCloser, error) { return spool.Open(ctx, name) }
		case was && errors.Is(err, fs.ErrNotExist):
			one.absent = errors.New("it is not there")
		default:
			continue
		}
		if err := s.add(one); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (s *Inputs) add(one *stream) error {
	for _, other := range s.list {
		if other.given == one.given || other.info != nil && one.info != nil && os.SameFile(other.info, one.info) {
			return fail.Errorf(fail.Config, "the inputs %s and %s are one stream: give it once", other.given, one.given)
		}
	}
	if len(s.list) == maxStreams {
		return fail.Errorf(fail.Config, "more than %s are streams", setting.Count(maxStreams, "input"))
	}
	s.list = append(s.list, one)
	s.byInput[one.given] = one
	return nil
}

// stdinStream looks what standard input is.
func stdinStream(stdin *os.File, known map[string]State) *stream {
	if stdin == nil {
		stdin = os.Stdin
	}
	one := &stream{given: Stdin, place: Stdin, name: Stdin}
	kind, info := spool.KindOf(stdin)
	one.info = info
	_, was := known[Stdin]
	switch kind {
	case spool.StdinNone:
		one.absent, one.info = errors.New("it is closed or /dev/null"), nil
	case spool.StdinTerminal:
		one.absent, one.info = errors.New("it is a terminal or another device: pipe the export in, as in mysql … | bulkload …"), nil
	case spool.StdinFile:
		if !was {
			one.file, one.plain = spool.Standing(stdin), true
			return one
		}
		one.begin = func(context.Context) (io.ReadCloser, error) {
			return io.NopCloser(io.NewSectionReader(stdin, 0, info.Size())), nil
		}
	case spool.StdinStream:
		spool.Widen(stdin)
		one.begin = func(context.Context) (io.ReadCloser, error) { return io.NopCloser(stdin), nil }
	}
	return one
}

// Count returns how many inputs are streams: standard input that is a file is none.
func (s *Inputs) Count() (n int) {
	for _, one := range s.list {
		if !one.plain {
			n++
		}
	}
	return n
}

// Refuse returns an error if inputs are streams, for work that would use them up. stdin is as in [Find].
func Refuse(ctx context.Context, open source.Resolve, inputs []string, stdin *os.File, work string) error {
	s, err := Find(ctx, open, inputs, stdin, nil)
	if err != nil {
		return err
	}
	for _, one := range s.list {
		if !one.plain {
			return fail.Errorf(fail.Config, "%s can be read only once, and %s would consume it: write the data to a file and name the file", one.describe(), work)
		}
	}
	return nil
}

// Waiting reports whether a stream is given that no earlier attempt has copied: it can be read only once.
func (s *Inputs) Waiting(known map[string]State) bool {
	return slices.ContainsFunc(s.list, func(one *stream) bool { return one.begin != nil && !known[one.place].Whole })
}

// Absent returns the error of the first stream that has nothing to read, nil if there is none.
func (s *Inputs) Absent() error {
	for _, one := range s.list {
		if one.absent != nil {
			return one.noData()
		}
	}
	return nil
}

// noData returns the error of a stream that has nothing to read.
func (s *stream) noData() error {
	return fail.Errorf(fail.Input, "%s has no data: %w", s.describe(), s.absent)
}

// Others returns the inputs that are not streams.
func (s *Inputs) Others(inputs []string) (others []string) {
	for _, input := range inputs {
		if one := s.byInput[input]; one == nil || one.plain {
			others = append(others, input)
		}
	}
	return others
}

// Lost says that a stream has no copy: it was not needed.
func (s *Inputs) Lost() bool {
	return slices.ContainsFunc(s.list, func(one *stream) bool { return one.file == nil })
}

// Digest returns the digest of an input by its ordinal, if it is a stream.
func (s *Inputs) Digest(input int) (d spool.Digest, ok bool) {
	if s == nil {
		return d, false
	}
	for _, one := range s.list {
		if one.input == input && !one.plain {
			return one.digest, true
		}
	}
	return d, false
}

// Place returns where a stream is as a file system's name, by its ordinal; empty for other inputs.
func (s *Inputs) Place(input int) string {
	for _, one := range s.list {
		if one.input == input {
			return one.place
		}
	}
	return ""
}

// Resolve finds the file system of an input, in which the copy of a stream has the stream's name.
func (s *Inputs) Resolve(input string) (source.FS, string, error) {
	one := s.byInput[input]
	if one == nil {
		return s.open(input)
	}
	if one.file == nil {
		return nil, "", fail.Errorf(fail.Input, "%s has no copy", one.describe())
	}
	return spool.NewFS(one.file, one.name, one.below), one.name, nil
}

// Left returns a limit of local disk without what the copies take; 0 means no limit.
func (s *Inputs) Left(limit spec.Size) spec.Size {
	if s == nil || limit == 0 {
		return limit
	}
	return max(1, limit-spec.Size(s.used))
}

// Close lets the copies go. Those without a name are gone then.
func (s *Inputs) Close() error {
	if s == nil {
		return nil
	}
	var errs []error
	for _, one := range s.list {
		if one.file != nil && !one.plain {
			errs = append(errs, one.file.Close())
			one.file = nil
		}
	}
	return errors.Join(errs...)
}

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
