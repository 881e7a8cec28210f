package main

import (
	"context"
	"fmt"

	"bulkload/internal/cli/settings"
	"bulkload/internal/model/fail"
	"bulkload/internal/serve"

	"github.com/spf13/pflag"
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
