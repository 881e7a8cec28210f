package spec

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"slices"

	"bulkload/internal/model/fail"
	"bulkload/pkg/keygen"
)

// A Salt is the secret of salted(x) in cells and filters. It is printed as "…".
type Salt []byte

const (
	minSalt = 16
	maxSalt = 64 << 10
)

// String hides the secret.
func (s Salt) String() string { return "…" }

// GoString hides the secret, as String does.
func (s Salt) GoString() string { return s.String() }

// Format hides the secret from every verb.
func (s Salt) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(s.String())) }

// Digest returns a hash that distinguishes salts without revealing them: a salt has at least 16 bytes. It is empty if there is none.
func (s Salt) Digest() string {
	if len(s) == 0 {
		return ""
	}
	sum := sha256.Sum256(append([]byte("bulkload salt_file\x00"), s...))
	return hex.EncodeToString(sum[:8])
}

// Salt reads the secret from its file; nil if no cell and no filter of the job's tables uses salted(x). The Job does not keep a copy of the secret.
func (j Job) Salt() (Salt, error) {
	if !j.Salted() {
		return nil, nil
	}
	b, err := readSalt(j.SaltFile)
	if err != nil {
		return nil, fail.With(fail.Config, &FieldError{"salt_file", err})
	}
	return b, nil
}

// readSalt reads a secret, and removes a line end after it.
func readSalt(name string) (Salt, error) {
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a file", name)
	case info.Size() > maxSalt:
		return nil, fmt.Errorf("%s has %d bytes: a secret has at most %d", name, info.Size(), maxSalt)
	}
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	b = bytes.TrimSuffix(bytes.TrimSuffix(b, []byte("\n")), []byte("\r"))
	if len(b) < minSalt {
		return nil, fmt.Errorf("%s has a secret of %d bytes, and at least %d are needed: openssl rand -hex 32 makes one", name, len(b), minSalt)
	}
	return b, nil
}

// Salted reports whether a cell or a filter of the job's tables uses salted(x).
func (j Job) Salted() bool {
	return slices.ContainsFunc(j.Targets(), func(t Target) bool { return t.salted() })
}

// salted is [Job.Salted] for the job's own table.
func (j Job) salted() bool {
	if j.rowFilter != nil && keygen.Calls(j.rowFilter, "salted") {
		return true
	}
	return slices.ContainsFunc(j.Cells, func(c CellSpec) bool {
		e, err := c.Expression()
		return err == nil && e != nil && keygen.Calls(e, "salted")
	})
}

// Masked returns the columns that a cell of the job's tables masks by salted(x).
func (j Job) Masked() (columns []string) {
	for _, t := range j.Targets() {
		for _, c := range t.Cells {
			if e, err := c.Expression(); err == nil && e != nil && keygen.Calls(e, "salted") {
				columns = append(columns, keygen.Columns(e)...)
			}
		}
	}
	return columns
}

// checkSalt refuses salted(x) without a file of its secret.
func (j Job) checkSalt() error {
	if j.SaltFile == "" && j.salted() {
		return errors.New("salted(x) needs a secret: name a file of this host that has it, which openssl rand -hex 32 makes")
	}
	return nil
}
