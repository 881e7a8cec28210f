//go:build !linux

package hdfsio

import "errors"

// renameNew is not supported on this system.
func renameNew(_, _ string) error { return errors.ErrUnsupported }
