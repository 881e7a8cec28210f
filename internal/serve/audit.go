package serve

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"bulkload/internal/base/durable"
	"bulkload/internal/model/keyrange"
)

// AuditKeys is the form of query keys in the audit log.
type AuditKeys string

// The values of AuditKeys. The zero value means HashKeys.
const (
	// HashKeys writes the first 16 hexadecimal digits of the SHA-256 of a key's values, each followed by a zero byte.
	// With a known key, its readers can be found. Keys with few possible values can be guessed from the hash.
	HashKeys AuditKeys = "hash"
	// ClearKeys writes a key's values as [keyrange.ParseValues] reads them.
	ClearKeys AuditKeys = "clear"
	NoKeys    AuditKeys = "none"
)

// Validate returns an error for any other value.
func (k AuditKeys) Validate() error {
	switch k {
	case "", HashKeys, ClearKeys, NoKeys:
		return nil
	}
	return fmt.Errorf("audit keys %q: they are hash, clear or none", string(k))
}

// auditLine is the audit log's record of a request: the client, the job, and the amount read. It never has values of rows.
type auditLine struct {
	Time      time.Time         `json:"time"` // time at which the request arrived
	Request   string            `json:"request"`
	Client    string            `json:"client,omitempty"`    // if clients are known
	Principal string            `json:"principal,omitempty"` // of the Kerberos ticket, even if it belongs to no client
	Address   string            `json:"address"`
	Route     string            `json:"route"`
	Job       string            `json:"job"`
	Action    string            `json:"action,omitempty"` // action on a job of the console
	Keys      []string          `json:"keys,omitempty"`   // in the form of AuditKeys; for a scan its bounds
	Caller    map[string]string `json:"caller,omitempty"`
	Rows      int               `json:"rows"`
	Bytes     int64             `json:"bytes"`
	Status    int               `json:"status"`
	Problem   string            `json:"problem,omitempty"`
	Millis    float64           `json:"ms"`
}

// audit writes a line for each request of a job. If it is nil, nothing is written.
type audit struct {
	keys AuditKeys
	log  *slog.Logger

	mu     sync.Mutex
	w      io.Writer
	broken bool // the last line could not be written
	failed func()
}

// key returns the form of one query key in the log.
func (k AuditKeys) key(values []string) string {
	if k == ClearKeys {
		return keyrange.FormatValues(values)
	}
	h := sha256.New()
	for _, v := range values {
		_, _ = io.WriteString(h, v) // a hash returns no error
		_, _ = h.Write([]byte{0})
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// write appends a line. If a line cannot be written, the service's log reports that once.
func (a *audit) write(l auditLine) {
	b, err := json.Marshal(l)
	known := false // the service's log has reported it before
	if err == nil {
		a.mu.Lock()
		_, err = a.w.Write(append(b, '\n'))
		known, a.broken = a.broken, err != nil
		a.mu.Unlock()
	}
	if err == nil {
		return
	}
	a.failed()
	if !known {
		a.log.Error("the audit log cannot be written", "error", err)
	}
}

func newRequestID() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // crypto/rand has no error
	return hex.EncodeToString(b[:])
}

// AuditFile is a file for [Options.Audit]. It can be reopened after its name was given to another file.
type AuditFile struct {
	path string
	mu   sync.Mutex
	f    *os.File
}

// OpenAudit opens a file for lines, which are appended to it.
func OpenAudit(path string) (*AuditFile, error) {
	a := &AuditFile{path: path}
	return a, a.Reopen()
}

// Reopen opens the path again. If that succeeds, it closes the previous file.
func (a *AuditFile) Reopen() error {
	f, before, err := durable.OpenLines(a.path)
	if err != nil {
		return err
	}
	_, _ = f.WriteString(before) // the next line fails too
	a.mu.Lock()
	defer a.mu.Unlock()
	old := a.f
	a.f = f
	if old != nil {
		return old.Close()
	}
	return nil
}

// Write appends a line.
func (a *AuditFile) Write(b []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.f.Write(b)
}

// Close closes the file.
func (a *AuditFile) Close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.f.Close()
}
