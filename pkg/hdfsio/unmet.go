package hdfsio

import (
	"errors"
	"net"
	"strings"
	"syscall"
	"time"

	"bulkload/pkg/setting"
)

// firstAnswer is how long a file system is tried if none of its NameNodes has ever accepted a connection: its address is wrong, or
// it is not running. If one was reached before, the normal timeout applies, as it may be restarting.
const firstAnswer = 5 * time.Second

// An UnmetError reports that no NameNode of a file system accepts a connection, and that none has before.
type UnmetError struct {
	Addresses []string
	Err       error
}

func (e *UnmetError) message() setting.Text {
	why := ""
	if errors.Is(e.Err, syscall.ECONNREFUSED) {
		why = " (connection refused)"
	}
	return setting.Textf("NameNode %s does not answer%s: see %s", strings.Join(e.Addresses, ", "), why, setting.HDFS)
}

func (e *UnmetError) Error() string { return e.message().String() }
func (e *UnmetError) Unwrap() error { return e.Err }

// Settings returns the settings that the message names; In returns the message with each setting as words names it.
func (e *UnmetError) Settings() []setting.Name                  { return e.message().Settings() }
func (e *UnmetError) In(words func(setting.Name) string) string { return e.message().In(words) }

// unmet returns an [UnmetError] for a failed connect, nil for other errors and if a NameNode was reached before.
func (h *HDFS) unmet(err error) error {
	op, ok := errors.AsType[*net.OpError](err)
	if !ok || op.Op != "dial" || h.dfs.Met() {
		return nil
	}
	return &UnmetError{h.options.Addresses, err}
}
