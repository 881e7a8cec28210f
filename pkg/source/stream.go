package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"bulkload/internal/formats/compression"
	"bulkload/pkg/setting"
)

// textStream reads a file's text from a position on, unpacked. Its errors name the file and the position.
type textStream struct {
	file *inputFile
	f    fs.File
	at   int64 // of the next byte to read; for a packed file, in the packed bytes

	raw   io.ReaderAt
	close func() // stops unpacking
	text  io.Reader
}

// openText opens the text from byte start on.
func (f *inputFile) openText(ctx context.Context, start int64) (_ *textStream, err error) {
	file, raw, err := f.Open(ctx)
	if err != nil {
		return nil, err
	}
	s := &textStream{file: f, f: file, raw: raw, at: start}
	if !f.sequential() {
		return s, nil
	}
	s.at = 0
	s.Within(0, f.Info.Size())
	if err := s.unpack(); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	if _, err := io.CopyN(io.Discard, s.text, start); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *textStream) Read(p []byte) (int, error) {
	if s.text != nil {
		return s.text.Read(p)
	}
	return s.readRaw(p)
}

// ReadAt implements [io.ReaderAt] for a text that is not packed. The next Read continues after these bytes.
func (s *textStream) ReadAt(p []byte, at int64) (int, error) {
	s.at = at
	return io.ReadFull(s, p)
}

// readRaw reads the file's own bytes. The file ends where it ended when it was listed: bytes appended since are not read, and missing bytes
// are an error.
func (s *textStream) readRaw(p []byte) (int, error) {
	size := s.file.Info.Size()
	if !s.file.sequential() {
		size = s.file.size()
	}
	if s.at >= size {
		return 0, io.EOF
	}
	n, err := s.raw.ReadAt(p[:min(int64(len(p)), size-s.at)], s.at)
	s.at += int64(n)
	switch {
	case n > 0 && (err == nil || err == io.EOF):
		return n, nil
	case err == io.EOF || err == nil:
		return 0, fmt.Errorf("%s: it ends at byte %d and had %s when it was listed: %w", s.file.Path, s.at, setting.Count(size, "byte"), io.ErrUnexpectedEOF)
	default:
		return n, fmt.Errorf("read %s at byte %d: %w", s.file.Path, s.at, err)
	}
}

// Close stops unpacking and closes the file.
func (s *textStream) Close() error {
	if s.close != nil {
		s.close()
	}
	return s.f.Close()
}

// unpack starts a goroutine that unpacks the file.
func (s *textStream) unpack() error {
	var text io.Reader
	stop := func() {}
	if s.file.compression == packedRejects {
		text = rawReader(s.file.rejectReader(rawReader(s.readRaw), s.file.opts).Read)
	} else if s.file.compression == "" || s.file.Info.Size() == 0 {
		text = rawReader(s.readRaw) // a file of 0 bytes is empty, whatever its name says
	} else {
		z, end, err := compression.Named(s.file.compression).Open(rawReader(s.readRaw), s.file.limits())
		if err != nil {
			return s.unpackError(err)
		}
		if text = z; end != nil {
			stop = end
		}
	}
	if s.file.transcoded {
		text = transcoded{s.file.charset.NewReader(below{text}), s.file.Path}
	}
	if d := s.file.dialect; d != nil && d.SkipEnd > 0 {
		text = &withoutLastLines{r: text, n: d.SkipEnd, most: defaultMaxRecord}
	}
	ahead := compression.ReadAhead(text)
	s.text = unpackReader{s, ahead}
	s.close = func() {
		ahead.Stop()
		stop()
	}
	return nil
}

// unpackError returns a read error unchanged, and an unpacking error with its position.
func (s *textStream) unpackError(err error) error {
	if raw, ok := errors.AsType[rawError](err); ok {
		return raw.error
	}
	return s.packError(err)
}

// packError adds the position in a packed file at which unpacking ended.
func (s *textStream) packError(err error) error {
	if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%s: the packed data end at byte %d, before they are whole: the file is truncated: %w", s.file.Path, s.at, io.ErrUnexpectedEOF)
	}
	if e := s.file.windowError(err); e != nil {
		return fmt.Errorf("%s: before byte %d: %w", s.file.Path, s.at, e)
	}
	return fmt.Errorf("%s: the %s data are damaged before byte %d: %w", s.file.Path, s.file.compression, s.at, err)
}

// rawReader is the method Read of a reader that unpacks nothing, and marks its errors.
type rawReader func(p []byte) (int, error)

func (read rawReader) Read(p []byte) (int, error) {
	n, err := read(p)
	if err != nil && err != io.EOF {
		err = rawError{err}
	}
	return n, err
}

// transcoded is a text that is decoded from its beginning. Its own errors are about its bytes, not about unpacking.
type transcoded struct {
	r    io.Reader
	path string
}

func (t transcoded) Read(p []byte) (int, error) {
	n, err := t.r.Read(p)
	if under, ok := errors.AsType[belowError](err); ok {
		return n, under.error
	}
	if err != nil && err != io.EOF {
		err = rawError{fmt.Errorf("%s: %w", t.path, err)}
	}
	return n, err
}

// below marks the errors of the reader under a decoded text.
type below struct{ io.Reader }

func (b below) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err != nil && err != io.EOF {
		err = belowError{err}
	}
	return n, err
}

// belowError is an error of the reader under a decoded text.
type belowError struct{ error }

// rawError is an error of reading, not of unpacking.
type rawError struct{ error }

func (e rawError) Unwrap() error { return e.error }

// unpackReader passes the unpacked text to the parser.
type unpackReader struct {
	stream *textStream
	ahead  *compression.Ahead
}

func (r unpackReader) Read(p []byte) (int, error) {
	n, err := r.ahead.Read(p)
	if err == nil || err == io.EOF {
		return n, err
	}
	return n, r.stream.unpackError(err)
}

// aheadFS is a file system whose files read ahead; ReadAheadMemory is the memory for that.
type aheadFS interface{ ReadAheadMemory() int64 }

// aheadFile is a file with a delay before its first byte, whose bytes can be requested in advance.
type aheadFile interface {
	// Within says that the bytes from start to end will be read in order, and few of those after them.
	Within(start, end int64)
}

// Within announces the bytes of the file that will be read.
func (s *textStream) Within(start, end int64) {
	if f, ok := s.f.(aheadFile); ok {
		f.Within(start, end)
	}
}
