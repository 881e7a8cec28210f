package hdfsio

import (
	"errors"
	"net"
	"strings"
	"syscall"
	"time"

	"bulkload/pkg/setting"
)

// firstAnswer is how long a file system is tried if none of its NameNodes has ever taken a connection: its address is wrong, or it
// is not running. One that was reached before is waited for, as it may be starting again.
const firstAnswer = 5 * time.Second

// An UnmetError says that no NameNode of a file system takes a connection, and that none has before.
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

// Settings returns the settings that the message names, and In is the message with each as words calls it.
func (e *UnmetError) Settings() []setting.Name                  { return e.message().Settings() }
func (e *UnmetError) In(words func(setting.Name) string) string { return e.message().In(words) }

// unmet returns an error of a failed connect as an [UnmetError], nil for other errors and where a NameNode was reached before.
func (h *HDFS) unmet(err error) error {
	op, ok := errors.AsType[*net.OpError](err)
	if !ok || op.Op != "dial" || h.dfs.Met() {
		return nil
	}
	return &UnmetError{h.o.Addresses, err}
}
