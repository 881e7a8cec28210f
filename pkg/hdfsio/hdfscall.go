package hdfsio

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"slices"
	"syscall"
	"time"

	"bulkload/internal/hadoop/hadooprpc"
)

// idleCall is how long a connection for calls of our own may have been idle to be used again. A NameNode closes idle ones
// after 10 s at the earliest; one that it has closed costs a call whose answer counts as lost.
const idleCall = 2 * time.Second

// idleCaller is a connection for calls of our own that is not in use.
type idleCaller struct {
	caller *hadooprpc.Caller
	server int // index in Addresses
	since  time.Time
}

// ask makes one call of ClientProtocol, past the client library, which makes more calls for an act than it needs. NameNodes
// that are in standby or cannot be reached are passed over. sent is false when no NameNode can have acted.
func (h *HDFS) ask(ctx context.Context, method string, request []byte) (response []byte, sent bool, err error) {
	var errs []error
	for range h.o.Addresses {
		c, err := h.caller(ctx)
		if err != nil {
			errs = append(errs, err)
			if ctx.Err() != nil {
				break
			}
			continue
		}
		response, err := h.callOn(ctx, c, method, request)
		if javaClass(err) == standby {
			h.passOver(c.server)
			errs = append(errs, err)
			continue
		}
		return response, true, err
	}
	return nil, false, errors.Join(errs...)
}

// callOn makes a call on a connection, and keeps that if it is sound.
func (h *HDFS) callOn(ctx context.Context, c idleCaller, method string, request []byte) ([]byte, error) {
	limited, cancel := context.WithTimeoutCause(ctx, h.o.IOTimeout, fmt.Errorf("no answer within %s", h.o.IOTimeout))
	defer cancel()
	response, err := c.caller.Call(limited, method, request)
	if e, ok := errors.AsType[*hadooprpc.Error](err); ok && limited.Err() == nil {
		if e.Fatal {
			c.caller.Close()
		} else {
			h.keepCaller(c)
		}
		return nil, remoteCause(&remoteError{method, e})
	}
	if err != nil {
		c.caller.Close()
		h.passOver(c.server)
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, fmt.Errorf("namenode %s: %w", h.o.Addresses[c.server], err)
	}
	h.keepCaller(c)
	return response, nil
}

// caller takes an idle connection or makes one.
func (h *HDFS) caller(ctx context.Context) (idleCaller, error) {
	h.mu.Lock()
	var stale []idleCaller
	for len(h.callers) > 0 {
		c := h.callers[len(h.callers)-1]
		h.callers = h.callers[:len(h.callers)-1]
		if time.Since(c.since) < idleCall {
			h.mu.Unlock()
			return c, nil
		}
		stale = append(stale, c)
	}
	server, closed := h.first, h.closed
	h.mu.Unlock()
	for _, c := range stale {
		c.caller.Close()
	}
	if closed {
		return idleCaller{}, fs.ErrClosed
	}
	nc, err := (&net.Dialer{Timeout: h.o.DialTimeout}).DialContext(ctx, "tcp", h.o.Addresses[server])
	if err == nil {
		h.meet()
		var c *hadooprpc.Caller
		if c, err = h.openCaller(ctx, nc, h.o.Addresses[server]); err == nil {
			return idleCaller{caller: c, server: server}, nil
		}
	}
	h.passOver(server)
	return idleCaller{}, err
}

// openCaller makes a connection to a NameNode one for calls of our own. It is closed when that fails.
func (h *HDFS) openCaller(ctx context.Context, nc net.Conn, addr string) (*hadooprpc.Caller, error) {
	var c *hadooprpc.Conn
	var err error
	if h.o.Security == nil {
		c, err = hadooprpc.Open(nc, h.o.User, hadooprpc.ClientProtocol)
	} else {
		c, err = h.logIn(ctx, nc, addr)
	}
	if err != nil {
		return nil, err
	}
	return hadooprpc.NewCaller(c, hadooprpc.ClientProtocol), nil
}

// keepCaller keeps a connection for the next call.
func (h *HDFS) keepCaller(c idleCaller) {
	c.since = time.Now()
	h.mu.Lock()
	keep := !h.closed && len(h.callers) < mostCallers
	if keep {
		h.callers = append(h.callers, c)
	}
	h.mu.Unlock()
	if !keep {
		c.caller.Close()
	}
}

// mostCallers bounds the idle connections for calls of our own: as many small files are completed at a time.
const mostCallers = 32

// passOver has the next connection begin with the NameNode after this one. Idle connections to this one are closed.
func (h *HDFS) passOver(server int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.first == server {
		h.first = (server + 1) % len(h.o.Addresses)
	}
	h.callers = slices.DeleteFunc(h.callers, func(c idleCaller) bool {
		if c.server == server {
			c.caller.Close()
		}
		return c.server == server
	})
}

const standby = "org.apache.hadoop.ipc.StandbyException"

// remoteError is a NameNode's exception in answer to a call of our own, as the client library has its.
type remoteError struct {
	method string
	e      *hadooprpc.Error
}

func (e *remoteError) Method() string    { return e.method }
func (e *remoteError) Desc() string      { return "ERROR_APPLICATION" }
func (e *remoteError) Exception() string { return e.e.Class }
func (e *remoteError) Message() string   { return e.e.Message }
func (e *remoteError) Error() string     { return fmt.Sprintf("%s call failed (%s)", e.method, e.e.Class) }

// remoteCause is what an exception means, as the client library has it: those that Go has a word for lose their own.
func remoteCause(e *remoteError) error {
	switch e.Exception() {
	case "java.io.FileNotFoundException":
		return fs.ErrNotExist
	case "org.apache.hadoop.security.AccessControlException":
		return fs.ErrPermission
	case "org.apache.hadoop.fs.PathIsNotEmptyDirectoryException":
		return syscall.ENOTEMPTY
	case "org.apache.hadoop.fs.FileAlreadyExistsException":
		return fs.ErrExist
	case "org.apache.hadoop.HadoopIllegalArgumentException":
		return fs.ErrInvalid
	}
	return e
}
