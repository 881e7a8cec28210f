package serve

import (
	"bufio"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"time"
)

// AuditKeys is how query keys stand in the audit log.
type AuditKeys string

// The ways of AuditKeys. The zero value is Hash.
const (
	// HashKeys writes the first 16 hexadecimal digits of the SHA-256 of a key's values with a zero byte after each: who
	// knows a key finds its readers. Keys of few possible values can be guessed from it.
	HashKeys  AuditKeys = "hash"
	ClearKeys AuditKeys = "clear"
	NoKeys    AuditKeys = "none"
)

// Validate reports whether it is one of these.
func (k AuditKeys) Validate() error {
	switch k {
	case "", HashKeys, ClearKeys, NoKeys:
		return nil
	}
	return fmt.Errorf("audit keys %q: they are hash, clear or none", string(k))
}

// auditLine is the entry of a request in the audit log: the client, the table and the amount read, never values of rows.
type auditLine struct {
	Time      time.Time         `json:"time"` // when the request came
	Request   string            `json:"request"`
	Client    string            `json:"client,omitempty"`    // where clients are known
	Principal string            `json:"principal,omitempty"` // of the Kerberos ticket, also of one that is not a client's
	Address   string            `json:"address"`
	Route     string            `json:"route"`
	Job       string            `json:"job"`
	Action    string            `json:"action,omitempty"` // about a job of the console
	Keys      []string          `json:"keys,omitempty"`   // as AuditKeys says; of a scan its bounds
	Caller    map[string]string `json:"caller,omitempty"`
	Rows      int               `json:"rows"`
	Bytes     int64             `json:"bytes"`
	Status    int               `json:"status"`
	Problem   string            `json:"problem,omitempty"`
	Millis    float64           `json:"ms"`
}

// audit writes a line for each request of a job. Nil writes nothing.
type audit struct {
	keys AuditKeys
	log  *slog.Logger

	mu     sync.Mutex
	w      io.Writer
	broken bool // the last line could not be written
	failed func()
}

// key returns how one query key stands in a line.
func (k AuditKeys) key(values []string) string {
	if k == ClearKeys {
		return strings.Join(values, ",")
	}
	h := sha256.New()
	for _, v := range values {
		_, _ = io.WriteString(h, v) // a hash returns no error
		_, _ = h.Write([]byte{0})
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// write appends a line. A line that cannot be written is in the log of the service, once.
func (a *audit) write(l auditLine) {
	b, err := json.Marshal(l)
	if err == nil {
		b = append(b, '\n')
		a.mu.Lock()
		_, err = a.w.Write(b)
		first := err != nil && !a.broken
		a.broken = err != nil
		a.mu.Unlock()
		if err == nil {
			return
		}
		if !first {
			a.failed()
			return
		}
	}
	a.failed()
	a.log.Error("the audit log cannot be written", "error", err)
}

// newRequestIDs gives ids of requests: 16 hexadecimal digits at random.
func newRequestIDs() func() string {
	var mu sync.Mutex
	random := bufio.NewReaderSize(rand.Reader, 512)
	return func() string {
		var b [8]byte
		mu.Lock()
		defer mu.Unlock()
		_, _ = io.ReadFull(random, b[:]) // crypto/rand has no error
		return hex.EncodeToString(b[:])
	}
}
