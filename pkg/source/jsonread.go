package source

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"bulkload/internal/formats/jsonlines"
	"bulkload/internal/formats/swar"
)

// lineStart returns the first beginning of a line at or after a byte of text that is not its first; -1 if there is none.
func lineStart(text []byte, at int, _ bool) int {
	if text[at-1] == '\n' {
		return at
	}
	if i := bytes.IndexByte(text[at:], '\n'); i >= 0 {
		return at + i + 1
	}
	return -1
}

// jsonReader reads lines of JSON.
type jsonReader struct {
	recordReader
	parser *jsonlines.Parser
	plan   *jsonlines.Plan // of the parser
}

func (jsonFormat) reader(r *Reader) splitReader { return &jsonReader{recordReader: recordReader{r}} }

func (j *jsonReader) read(s Split) error {
	if p := j.r.file.content.(*jsonText).wanted; p != j.plan {
		j.parser, j.plan = p.NewParser(), p
	}
	defer j.r.noteColumns(j.parser)
	return j.r.readText(s)
}

func (j *jsonReader) parse(n, _ int, last bool) (int, error) {
	return j.r.parseJSON(j.parser, n, last)
}

func (j *jsonReader) trimEnd(record []byte) []byte {
	line, _, _ := bytes.Cut(record, []byte{'\n'}) // the rest is blank lines
	return bytes.TrimSuffix(line, []byte{'\r'})
}

func (*jsonReader) tooLong(most string) string {
	return fmt.Sprintf("the line is longer than %s: a line feed is missing, or the file is not JSON lines", most)
}

// parseJSON cuts buf[:n] into lines and emits their values as one batch, or several if there are bad lines between them or many
// members are absent. It returns the beginning of the first incomplete line. last says that the file ends at n, which also ends the last line. Texts with
// escapes are stored unescaped after the chunk.
func (r *Reader) parseJSON(parser *jsonlines.Parser, n int, last bool) (int, error) {
	r.extra = n
	start, k, cols, most := 0, 0, r.file.cols, r.mostRows()
	for start < n {
		end, next := n, n
		if i := bytes.IndexByte(r.buf[start:n], '\n'); i >= 0 {
			end, next = start+i, start+i+1
		} else if !last {
			break
		}
		if jsonlines.Blank(r.buf[start:end]) {
			start = next
			continue
		}
		if len(r.offsets) >= most {
			if err := r.flush(k, start); err != nil {
				return start, err
			}
			k, r.extra = 0, n
		}
		r.growRow(k, cols)
		from, to, err := r.decodeLine(start, end)
		var grown []byte
		if err == nil {
			grown, err = parser.Parse(r.buf[:r.extra], from, to, r.fields[k:k+cols])
		}
		if err == nil {
			r.buf, r.extra = grown[:cap(grown)], len(grown)
			r.offsets = append(r.offsets, r.off+int64(start))
			k += cols
		} else {
			if err := r.flush(k, start); err != nil {
				return start, err
			}
			if err := r.rejectLine(start, next, from != start, err); err != nil {
				return start, err
			}
			k, r.extra = 0, n
		}
		start = next
	}
	return start, r.flush(k, start)
}

// decodeLine returns the position of the line buf[start:end] in UTF-8: unchanged, or decoded after the contents of the buffer. In no
// character set does a character contain a line feed.
func (r *Reader) decodeLine(start, end int) (from, to int, err error) {
	set := r.file.decoder()
	if set == nil || ascii(r.buf[start:end]) {
		return start, end, nil
	}
	if uint64(r.extra)+4*uint64(end-start) > math.MaxUint32 {
		return start, end, errors.New("decoded lines need more than 4 GiB")
	}
	from = r.extra
	out, bad := set.Append(r.buf[:from], r.buf[start:end])
	if bad >= 0 {
		return start, end, &badCharacter{bad}
	}
	r.buf, r.extra = out[:cap(out)], len(out)
	return from, r.extra, nil
}

// badCharacter is the error of an invalid character, with its position in a line.
type badCharacter struct{ at int }

func (e *badCharacter) Error() string {
	return fmt.Sprintf("JSON, byte %d of the line: these bytes are not a character of the character set", e.at)
}

// ascii reports whether text has no byte from 0x80 on.
func ascii(text []byte) bool {
	for len(text) >= 8 {
		if binary.LittleEndian.Uint64(text)&0x8080808080808080 != 0 {
			return false
		}
		text = text[8:]
	}
	for _, c := range text {
		if c >= 0x80 {
			return false
		}
	}
	return true
}

// rejectLine handles the unusable line buf[start:end]. decoded says that positions in the fault refer to the line in UTF-8.
func (r *Reader) rejectLine(start, end int, decoded bool, err error) error {
	if bad, ok := errors.AsType[*badCharacter](err); ok {
		return r.reject(start, end, "", bad.Error())
	}
	fault, ok := errors.AsType[*jsonlines.Error](err)
	if !ok {
		return fmt.Errorf("%s: at byte %d: %w", r.file.Path, r.off+int64(start), err)
	}
	reason := fault.Reason
	if errors.Is(fault, jsonlines.ErrWholeFile) {
		reason = "it is an array, or an object that does not end" // the file's first line is none
	}
	line := "line"
	if decoded {
		line = "line in UTF-8"
	}
	return r.reject(start, end, fault.Path, fmt.Sprintf("JSON, byte %d of the %s: %s", fault.Offset, line, reason))
}

// growRow makes room for the fields of a row after the first k.
func (r *Reader) growRow(k, cols int) {
	if len(r.fields) < k+cols {
		fields := make([]Span, max(2*len(r.fields), k+cols+4*swar.Block))
		copy(fields, r.fields[:k])
		r.fields = fields
	}
}
