package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
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

// A Record is one line. Data is the whole line as JSON, the header's fields
// included; decode from it what the event has.
type Record struct {
	Seq   int64     `json:"seq"`   // from 1, rising
	Time  time.Time `json:"time"`  // UTC, by the clock of the machine that wrote it
	Event string    `json:"event"` // never empty

	Data json.RawMessage `json:"-"`
}

// A DamagedError is a line of a journal that is not a record, and that no crash
// explains: what the job has done cannot be known.
type DamagedError struct {
	Line int    // from 1
	Text string // its first 80 bytes
}

func (e *DamagedError) Error() string {
	return fmt.Sprintf("line %d is not a record: %q", e.Line, e.Text)
}

// A Journal is open for appending. Its methods may be called by any number of
// goroutines.
type Journal struct {
	mu   sync.Mutex
	f    *os.File
	seq  int64
	line []byte
	err  error // the first failed write: nothing may follow a torn line

	share func(line []byte, d Durability) error // nil: the file is all that there is
}

// Durability says where a record is before a job continues.
type Durability uint8

const (
	// Later is on disk when the system writes it, and shared within seconds: what it reports is done once more if it is lost.
	Later Durability = iota
	// OnDisk is on disk. A journal that is shared gets it within milliseconds, while the job continues: it reports an act, and a process
	// that is killed before it is shared was killed, for the next owner, before the act was recorded.
	OnDisk
	// First is on disk, or shared if the journal is, with all records before it: it announces an act, or is the only trace of
	// what an act has made.
	First
)

// Share has each record given to share too, in their order, before it is in the file: a line without its end, which stays as it is,
// and how durable it is to be. An error of share is that of the record. The file is a copy then, which need not survive the machine.
func (j *Journal) Share(share func(line []byte, d Durability) error) { j.share = share }

// Open opens the journal of a directory, makes it if it is missing, and gives
// its records in their order. The caller holds the directory's lock, by
// [TryLock]. A last line that a crash has torn is cut off; any other line that
// is not a record is a [DamagedError], and the file stays as it is.
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

// cut takes off a line that was not finished.
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

// Read gives the records of a journal without opening it for writing, so it
// needs no lock. A last line without its end is left out: it is being written,
// or a crash has torn it. With a [*DamagedError] come the records before it.
func Read(r io.Reader) ([]Record, error) {
	records, _, err := read(r)
	return records, err
}

// read gives the records, and how many bytes the whole lines have.
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
		if err := json.Unmarshal(b[:end], &record); err != nil || record.Event == "" {
			// A machine that stops can leave zeros where its last lines were to be.
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

// Append adds a record that is as durable as d says, and gives it as [Open] will
// read it. data marshals to a JSON object, whose fields are the record's, or is
// nil. The fields seq, time and event are the journal's own.
//
// An error about data leaves the journal as it was. A write that failed may
// have left a torn line, which nothing may follow: every later call gives that
// error again.
func (j *Journal) Append(event string, data any, d Durability) (Record, error) {
	body, err := bodyOf(event, data)
	if err != nil {
		return Record{}, err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.err != nil {
		return Record{}, j.err
	}
	r, err := newRecord(j.seq+1, event, body)
	if err != nil {
		return Record{}, err
	}
	if j.share != nil {
		if err := j.share(r.Data, d); err != nil {
			j.err = fmt.Errorf("journal %s: %w", j.f.Name(), err)
			return Record{}, j.err
		}
	}
	j.line = append(append(j.line[:0], r.Data...), '\n')
	if _, err := j.f.Write(j.line); err != nil {
		j.err = fmt.Errorf("journal %s: %w", j.f.Name(), err)
		return Record{}, j.err
	}
	j.seq++
	if d != Later && j.share == nil {
		if err := j.f.Sync(); err != nil {
			j.err = fmt.Errorf("journal %s: %w", j.f.Name(), err)
			return Record{}, j.err
		}
	}
	return r, nil
}

// NewRecord returns a record as a journal would have it, of one that is not kept.
func NewRecord(seq int64, event string, data any) (Record, error) {
	body, err := bodyOf(event, data)
	if err != nil {
		return Record{}, err
	}
	return newRecord(seq, event, body)
}

// bodyOf returns a record's own fields, as a JSON object.
func bodyOf(event string, data any) ([]byte, error) {
	body := []byte("{}")
	if data != nil {
		var err error
		if body, err = json.Marshal(data); err != nil {
			return nil, fmt.Errorf("journal: record %s: %w", event, err)
		}
	}
	if len(body) < 2 || body[0] != '{' {
		return nil, fmt.Errorf("journal: record %s is not an object: %.40q", event, body)
	}
	return body, nil
}

// newRecord puts the header before a record's own fields.
func newRecord(seq int64, event string, body []byte) (Record, error) {
	r := Record{Seq: seq, Time: time.Now().UTC().Round(0), Event: event} // without the monotonic clock, as it is read
	head, err := json.Marshal(r)
	if err != nil {
		return Record{}, fmt.Errorf("journal: record %s: %w", event, err)
	}
	if len(body) > 2 {
		r.Data = slices.Concat(head[:len(head)-1], []byte{','}, body[1:])
	} else {
		r.Data = head
	}
	return r, nil
}

// WriteTo copies the journal as it is now, whole lines only, while others may
// continue appending after it.
func (j *Journal) WriteTo(w io.Writer) (int64, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	info, err := j.f.Stat()
	if err != nil {
		return 0, err
	}
	return io.Copy(w, io.NewSectionReader(j.f, 0, info.Size()))
}

// Close makes all records durable and closes the file; those that are shared
// are so when the lock is released, which is the caller's.
func (j *Journal) Close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.share != nil {
		return j.f.Close()
	}
	return errors.Join(j.f.Sync(), j.f.Close())
}
