package hbaserpc

import (
	"context"
	"errors"
	"net"
	"time"
)

// WantsKerberos reports whether a server requires a login. It closes the connection.
func WantsKerberos(ctx context.Context, nc net.Conn) (bool, error) {
	defer nc.Close()
	stop := context.AfterFunc(ctx, func() { nc.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	// The token is invalid: a server without security responds that it has none, one with
	// security refuses it.
	if _, err := nc.Write(append([]byte(preamble+byKerberos), frame([]byte{0})...)); err != nil {
		return false, err
	}
	_, err := readAnswer(nc)
	switch e, ok := errors.AsType[*LoginError](err); {
	case errors.Is(err, ErrSimple):
		return false, nil
	case err == nil || ok && e.Class != "":
		return true, nil
	}
	return false, err
}
