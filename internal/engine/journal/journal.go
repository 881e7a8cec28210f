package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"bulkload/internal/base/durable"
)

// FileName is the journal's name in its directory.
const FileName = "journal.jsonl"

// A Record is one line. Data is the whole line as JSON, including the fields of the
// header; decode the event's own fields from it.
type Record struct {
	Seq   int64     `json:"seq"`   // from 1, ascending
	Time  time.Time `json:"time"`  // UTC, by the clock of the machine that wrote it
	Event string    `json:"event"` // never empty

	Data json.RawMessage `json:"-"`
}

// A DamagedError reports a line of a journal that is not the record that was written there, and that cannot
// be the result of a crash: the progress of the job is unknown.
type DamagedError struct {
	Line int    // line number, from 1
	Text string // its first 80 bytes
}

func (e *DamagedError) Error() string {
	return fmt.Sprintf("line %d is not the record that was written: %q", e.Line, e.Text)
}

// A Journal is open for appending. Its methods are safe for concurrent use.
type Journal struct {
	mu   sync.Mutex
	f    *os.File
	seq  int64
	line []byte
	err  error // the first failed write: nothing may follow a torn line

	share func(line []byte, d Durability) error // nil: the journal is not shared
}

// Durability is how durable a record is before the job continues.
type Durability uint8

const (
	// Later is on disk when the system writes it, and shared within seconds: if it is lost, the recorded action is repeated.
	Later Durability = iota
	// OnDisk is on disk. A shared journal gets it within milliseconds, while the job continues: it reports a finished action. If the process is killed
	// before the record is shared, the next owner sees a process that was killed before it recorded the action.
	OnDisk
	// First is on disk, or shared if the journal is, together with all records before it: it announces an action, or is the only trace of an object that
	// an action has created.
	First
)

// Share passes each record to share as well, in order, before the record is in the file: its line without the line end, which must not be modified,
// and its durability. An error of share fails the record. The file is then a copy, which need not survive the machine.
func (j *Journal) Share(share func(line []byte, d Durability) error) { j.share = share }

// Open opens the journal of a directory, creates it if it is missing, and returns
// its records in order. The caller must hold the directory's lock, see [TryLock]. A
// last line that a crash has torn is cut off; any other line that is not the next record
// is a [DamagedError], and the file is not changed.
func Open(dir string) (*Journal, []Record, error) {
	name := filepath.Join(dir, FileName)
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, nil, fmt.Errorf("journal: %w", err)
	}
	records, whole, err := read(f)
	if err == nil {
		err = cut(f, whole)
	}
	if err == nil {
		err = durable.SyncDir(dir)
	}
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("journal %s: %w", name, err), f.Close())
	}
	j := &Journal{f: f}
	if n := len(records); n > 0 {
		j.seq = records[n-1].Seq
	}
	return j, records, nil
}

// cut removes an incomplete last line.
func cut(f *os.File, whole int64) error {
	info, err := f.Stat()
	if err != nil || info.Size() == whole {
		return err
	}
	if err := f.Truncate(whole); err != nil {
		return err
	}
	return f.Sync()
}

// Read returns the records of a journal without opening it for writing, so it needs
// no lock. An incomplete last line is left out: it is being written, or a crash has
// torn it. Together with a [*DamagedError] it returns the records before the
// damage.
func Read(r io.Reader) ([]Record, error) {
	records, _, err := read(r)
	return records, err
}

// read returns the records, and the total length of complete lines.
func read(r io.Reader) (records []Record, whole int64, err error) {
	b, err := io.ReadAll(r)
	if err != nil {
		return nil, 0, err
	}
	for len(b) > 0 {
		end := bytes.IndexByte(b, '\n')
		if end < 0 {
			break
		}
		record := Record{}
		if err := json.Unmarshal(b[:end], &record); err != nil || record.Event == "" || record.Seq != int64(len(records))+1 || !unchanged(b[:end]) {
			// A machine that crashes can leave zeros in place of its last lines.
			if len(bytes.Trim(b, "\x00\n")) == 0 {
				break
			}
			return records, whole, &DamagedError{Line: len(records) + 1, Text: string(b[:min(end, 80)])}
		}
		record.Data = json.RawMessage(b[:end])
		records = append(records, record)
		whole += int64(end) + 1
		b = b[end+1:]
	}
	return records, whole, nil
}

// Append adds a record with durability d, and returns it as [Open] will read it.
// data must marshal to a JSON object, whose fields become the record's, or be nil.
// The fields seq, time, event and check are the journal's own.
//
// An error about data does not change the journal. A failed write may have left a
// torn line, which nothing may follow: every later call returns the same error. So does a journal that was
// removed or replaced, which a record that is not [Later] notices.
func (j *Journal) Append(event string, data any, d Durability) (Record, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.err != nil {
		return Record{}, j.err
	}
	r, err := NewRecord(j.seq+1, event, data)
	if err != nil {
		return Record{}, err
	}
	if err := j.write(r.Data, d); err != nil {
		j.err = fmt.Errorf("journal %s: %w", j.f.Name(), err)
		return Record{}, j.err
	}
	j.seq++
	return r, nil
}

// write writes a line with durability d.
func (j *Journal) write(line []byte, d Durability) error {
	if j.share != nil {
		if err := j.share(line, d); err != nil {
			return err
		}
	}
	j.line = append(append(j.line[:0], line...), '\n')
	if _, err := j.f.Write(j.line); err != nil || d == Later || j.share != nil {
		return err
	}
	if err := j.f.Sync(); err != nil {
		return err
	}
	return j.inPlace()
}

// errMoved means that the next process would not read this journal.
var errMoved = errors.New("it was removed or replaced while this job ran: repeat the command if no other process works on the job")

// inPlace returns errMoved unless the open file is the one that its path names.
func (j *Journal) inPlace() error {
	mine, err := j.f.Stat()
	if err != nil {
		return err
	}
	if there, err := os.Stat(j.f.Name()); err != nil || !os.SameFile(mine, there) {
		return errMoved
	}
	return nil
}

// NewRecord returns a record as a journal would store it, without storing it.
func NewRecord(seq int64, event string, data any) (Record, error) {
	r := Record{Seq: seq, Time: time.Now().UTC().Round(0), Event: event} // without the monotonic clock, as it is read back
	head, err := json.Marshal(r)
	body := []byte("{}")
	if err == nil && data != nil {
		body, err = json.Marshal(data)
	}
	if err != nil {
		return Record{}, fmt.Errorf("journal: record %s: %w", event, err)
	}
	if len(body) < 2 || body[0] != '{' {
		return Record{}, fmt.Errorf("journal: record %s is not an object: %.40q", event, body)
	}
	line := head[:len(head)-1]
	if len(body) > 2 {
		line = slices.Concat(line, []byte{','}, body[1:len(body)-1])
	}
	r.Data = append(line, checkOf(line)...)
	return r, nil
}

// checkOf returns the end of a line with the checksum of what precedes it.
func checkOf(line []byte) []byte {
	return fmt.Appendf(nil, `,"check":"%08x"}`, crc32.Checksum(line, crc32.MakeTable(crc32.Castagnoli)))
}

// unchanged reports whether a line has the bytes that were written. Lines of earlier versions have no checksum.
func unchanged(line []byte) bool {
	at := len(line) - len(checkOf(nil))
	return at < 0 || !bytes.HasPrefix(line[at:], []byte(`,"check":"`)) || bytes.Equal(line[at:], checkOf(line[:at]))
}

// WriteTo copies the current journal, complete lines only, while other goroutines
// may continue to append to it.
func (j *Journal) WriteTo(w io.Writer) (int64, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	info, err := j.f.Stat()
	if err != nil {
		return 0, err
	}
	return io.Copy(w, io.NewSectionReader(j.f, 0, info.Size()))
}

// Close makes all records durable and closes the file. Shared records are durable
// when the caller releases the lock.
func (j *Journal) Close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.share != nil {
		return j.f.Close()
	}
	return errors.Join(j.f.Sync(), j.f.Close())
}
