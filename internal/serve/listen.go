package serve

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"syscall"
)

// socketActivation is the address of a socket that systemd passes (sd_listen_fds(3)).
const socketActivation = "systemd"

// Listen listens at an address, or takes the one socket that systemd has opened.
func Listen(ctx context.Context, address string) (net.Listener, error) {
	if address != socketActivation {
		if _, _, err := net.SplitHostPort(address); err != nil {
			return nil, fmt.Errorf("%q is not a host:port", address)
		}
		return (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	}
	if pid, n := os.Getenv("LISTEN_PID"), os.Getenv("LISTEN_FDS"); pid != strconv.Itoa(os.Getpid()) || n != "1" {
		return nil, errors.New("systemd must pass exactly one socket: start the service by a .socket unit with one ListenStream")
	}
	const first = 3 // SD_LISTEN_FDS_START
	syscall.CloseOnExec(first)
	f := os.NewFile(first, "systemd")
	defer f.Close()
	l, err := net.FileListener(f)
	if err != nil {
		return nil, fmt.Errorf("the socket that systemd passes: %w", err)
	}
	return l, nil
}
