package main

import (
	"context"
	"io"

	"bulkload/internal/base/workers"

	"github.com/spf13/cobra"
)

// stdinOf returns the standard input of a command. Reading it ends when the command is stopped, also while no data arrives.
func stdinOf(cmd *cobra.Command) io.Reader { return stoppable{cmd.Context(), cmd.InOrStdin()} }

// stoppable reads until the context ends. A blocked read cannot be interrupted: it is left behind, so there is none after that.
type stoppable struct {
	ctx context.Context
	r   io.Reader
}

func (s stoppable) Read(p []byte) (int, error) {
	if s.ctx.Err() != nil {
		return 0, context.Cause(s.ctx)
	}
	data, err := workers.Await(s.ctx, func() ([]byte, error) {
		buf := make([]byte, len(p))
		n, err := s.r.Read(buf)
		return buf[:n], err
	})
	return copy(p, data), err
}
