//go:build !linux

package durable

import (
	"errors"
	"os"
)

func createUnnamed(string, string) (*os.File, error) { return nil, errors.ErrUnsupported }

func link(*os.File, string) error { return errors.ErrUnsupported }
