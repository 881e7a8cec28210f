package serve

import (
	"os"
	"sync"

	"bulkload/internal/base/durable"
)

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
