package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"bulkload/internal/cli/settings"
)

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
