package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"strconv"
	"sync"
	"syscall"

	"bulkload/internal/base/durable"
	"bulkload/internal/cli/settings"
)

// socketActivation is the address of a socket that systemd passes (sd_listen_fds(3)).
const socketActivation = "systemd"

// openListener listens at an address, or takes the one socket that systemd has opened.
func openListener(ctx context.Context, address string) (net.Listener, error) {
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

// checkTLS returns an error if a flag of encryption or of clients is missing that another flag needs.
func (o *serviceFlags) checkTLS() error {
	switch {
	case (o.tls.Cert == "") != (o.tls.Key == ""):
		return settings.AboutFlags(errors.New("--tls-cert and --tls-key go together"), "tls-cert", "tls-key")
	case o.tls.ClientCA != "" && o.tls.Cert == "":
		return settings.AboutFlags(errors.New("--tls-client-ca needs --tls-cert"), "tls-client-ca")
	case o.tls.ClientCA != "" && o.clients == "":
		return settings.AboutFlags(errors.New("--tls-client-ca needs --clients: the file that lists what each certificate may read"), "tls-client-ca")
	case o.keytab != "" && o.clients == "":
		return settings.AboutFlags(errors.New("--negotiate-keytab needs --clients: the file that lists what each principal may read"), "negotiate-keytab")
	}
	return nil
}

// hosts returns the host names of a service that only this machine can reach. It returns nil if the service has named
// clients or others may reach it. An address that others can reach must be encrypted and have clients, unless the
// user explicitly allows it without.
func (o *serviceFlags) hosts(a net.Addr) ([]string, error) {
	tcp, ok := a.(*net.TCPAddr)
	if local := !ok || tcp.IP.IsLoopback(); local { // a Unix domain socket is local
		if o.clients != "" {
			return nil, nil
		}
		names := []string{"localhost", "127.0.0.1", "[::1]", "::1"}
		if host, _, err := net.SplitHostPort(o.listen); err == nil && host != "" {
			names = append(names, host)
		}
		return names, nil
	}
	switch {
	case o.insecure:
	case o.clients == "":
		return nil, fmt.Errorf("--listen %s is open to other hosts without authentication: give --clients, --insecure, or a loopback address", o.listen)
	case o.tls.Cert == "":
		return nil, fmt.Errorf("--listen %s is open to other hosts without encryption: give --tls-cert and --tls-key, or --insecure behind a TLS proxy", o.listen)
	}
	return nil, nil
}

// appendFile is a file that lines are appended to. It can be reopened after its name was given to another file.
type appendFile struct {
	path string
	mu   sync.Mutex
	f    *os.File
}

func openAppend(path string) (*appendFile, error) {
	a := &appendFile{path: path}
	return a, a.Reopen()
}

// Reopen opens the path again. If that succeeds, it closes the previous file.
func (a *appendFile) Reopen() error {
	f, before, err := durable.OpenLines(a.path)
	if err != nil {
		return err
	}
	_, _ = f.WriteString(before) // the next line fails too
	a.mu.Lock()
	defer a.mu.Unlock()
	old := a.f
	a.f = f
	if old != nil {
		return old.Close()
	}
	return nil
}

func (a *appendFile) Write(b []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.f.Write(b)
}

func (a *appendFile) Close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.f.Close()
}

// onHangup calls act on SIGHUP, in place of the stop by stopOnSignal, until stop is called.
func onHangup(ctx context.Context, act func()) (stop func()) {
	hangup := make(chan os.Signal, 1)
	signal.Reset(syscall.SIGHUP)
	signal.Notify(hangup, syscall.SIGHUP)
	ctx, cancel := context.WithCancel(ctx)
	var waiting sync.WaitGroup
	waiting.Go(func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-hangup:
				act()
			}
		}
	})
	return func() {
		signal.Stop(hangup)
		cancel()
		waiting.Wait()
	}
}
