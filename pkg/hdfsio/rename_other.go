//go:build !linux

package hdfsio

import "errors"

// renameNew is not there on this system.
func renameNew(_, _ string) error { return errors.ErrUnsupported }
