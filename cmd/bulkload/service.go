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

	"github.com/spf13/pflag"

	"bulkload/internal/cli/settings"
	"bulkload/internal/model/fail"
	"bulkload/internal/serve"
)

// serviceFlags are the flags of a command that serves HTTP: serve and console.
type serviceFlags struct {
	listen   string
	admin    string
	insecure bool
	clients  string
	keytab   string
	tls      serve.TLSFiles
	audit    string
	limits   serve.Limits
}

func (o *serviceFlags) add(f *pflag.FlagSet) {
	settings.Bind(f, settings.To{
		"listen": &o.listen, "admin-listen": &o.admin, "clients": &o.clients, "negotiate-keytab": &o.keytab, "tls-cert": &o.tls.Cert, "tls-key": &o.tls.Key, "tls-client-ca": &o.tls.ClientCA,
		"audit": &o.audit, "insecure": &o.insecure, "deadline": &o.limits.Deadline, "max-in-flight": &o.limits.InFlight, "max-rate": &o.limits.Rate,
		"max-connections": &o.limits.Connections, "drain-delay": &o.limits.DrainDelay, "drain-time": &o.limits.Drain,
	})
}

// serve serves requests until the context ends. The flags fill in missing options.
func (o *serviceFlags) serve(ctx context.Context, g *globals, options serve.Options) error {
	l, err := serve.Listen(ctx, o.listen)
	if err != nil {
		return fail.Usage(settings.AboutFlags(fmt.Errorf("--listen: %w", err), "listen"))
	}
	defer l.Close()
	options.Clients, options.Keytab, options.Limits, options.Version, options.Log = o.clients, o.keytab, o.limits, thisBuild().Version, g.Logger()
	if options.Hosts, err = o.hosts(l.Addr()); err != nil {
		return fail.Usage(settings.AboutFlags(err, "listen"))
	}
	if o.tls.Cert != "" {
		options.TLS = &o.tls
	}
	var audit *serve.AuditFile
	if o.audit != "" {
		if audit, err = serve.OpenAudit(o.audit); err != nil {
			return fail.Usage(settings.AboutFlags(fmt.Errorf("--audit: %w", err), "audit"))
		}
		defer audit.Close()
		options.Audit = audit
	}
	if o.admin != "" {
		if options.Admin, err = serve.Listen(ctx, o.admin); err != nil {
			return fail.Usage(settings.AboutFlags(fmt.Errorf("--admin-listen: %w", err), "admin-listen"))
		}
		defer options.Admin.Close()
	}
	s, err := serve.Open(options)
	if err != nil {
		return fail.Usage(err)
	}
	if options.Admin != nil {
		g.Logger().Info("listening for health and metrics", "address", options.Admin.Addr().String())
	}
	g.Logger().Info("listening", "address", l.Addr().String())
	defer onHangup(ctx, func() {
		if err := s.Reload(); err != nil {
			g.Logger().Error("job files, clients or certificates are invalid; the previous ones stay in use", "error", err)
		}
		if audit != nil {
			if err := audit.Reopen(); err != nil {
				g.Logger().Error("failed to reopen the audit log; the open file stays in use", "error", err)
			}
		}
	})()
	return fail.With(fail.Load, s.Serve(ctx, l))
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
