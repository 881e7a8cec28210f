//go:build !linux

package streaming

import (
	"errors"
	"os"
)

// createSecret creates a temporary file that only the user can read: the system has no files in memory with names.
func createSecret() (*os.File, error) { return os.CreateTemp("", "bulkload-secrets-*") }

func removeSecret(f *os.File) error { return errors.Join(f.Close(), os.Remove(f.Name())) }
