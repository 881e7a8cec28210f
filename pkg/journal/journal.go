package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"bulkload/internal/durable"
)

// FileName is the journal's name in its directory.
const FileName = "journal.jsonl"

// A Record is one line. Data is the whole line as JSON, the header's fields
// included; decode from it what the event has.
type Record struct {
	Seq   int64     `json:"seq"`
	Time  time.Time `json:"time"`
	Event string    `json:"event"`

	Data json.RawMessage `json:"-"`
}

// A Journal is open for appending. Its methods may be called by any number of
// goroutines.
type Journal struct {
	mu   sync.Mutex
	f    *os.File
	seq  int64
	line []byte
	err  error // the first failed write: nothing may follow a torn line
}

// Open opens the journal of a directory, makes it if it is missing, and gives
// its records. The caller holds the directory's lock.
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

// Read gives the records of a journal without opening it for writing. A last
// line without its end is left out. With an error about a line that is no
// record come the records before it.
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
			return records, whole, fmt.Errorf("line %d is no record: %.80q", len(records)+1, b[:end])
		}
		record.Data = json.RawMessage(b[:end])
		records = append(records, record)
		whole += int64(end) + 1
		b = b[end+1:]
	}
	return records, whole, nil
}

// Append adds a record; data is a struct or a map, whose fields are the
// record's, or nil. With sync it is on disk when Append returns.
func (j *Journal) Append(event string, data any, sync bool) error {
	body := []byte("{}")
	if data != nil {
		var err error
		if body, err = json.Marshal(data); err != nil {
			return fmt.Errorf("journal: record %s: %w", event, err)
		}
	}
	if len(body) < 2 || body[0] != '{' {
		return fmt.Errorf("journal: record %s is no object: %.40q", event, body)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.err != nil {
		return j.err
	}
	head, err := json.Marshal(Record{Seq: j.seq + 1, Time: time.Now().UTC(), Event: event})
	if err != nil {
		return fmt.Errorf("journal: record %s: %w", event, err)
	}
	j.line = append(j.line[:0], head[:len(head)-1]...)
	if len(body) > 2 {
		j.line = append(append(j.line, ','), body[1:]...)
	} else {
		j.line = append(j.line, '}')
	}
	j.line = append(j.line, '\n')
	if _, err := j.f.Write(j.line); err != nil {
		j.err = fmt.Errorf("journal %s: %w", j.f.Name(), err)
		return j.err
	}
	j.seq++
	if sync {
		if err := j.f.Sync(); err != nil {
			j.err = fmt.Errorf("journal %s: %w", j.f.Name(), err)
			return j.err
		}
	}
	return nil
}

// WriteTo copies the journal as it is now.
func (j *Journal) WriteTo(w io.Writer) (int64, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	info, err := j.f.Stat()
	if err != nil {
		return 0, err
	}
	return io.Copy(w, io.NewSectionReader(j.f, 0, info.Size()))
}

// Close makes all records durable and closes the file.
func (j *Journal) Close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return errors.Join(j.f.Sync(), j.f.Close())
}
