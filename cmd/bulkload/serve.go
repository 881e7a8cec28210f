package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"bulkload/internal/cli/settings"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/spec"
	"bulkload/internal/serve"

	"github.com/spf13/cobra"
)

type serveOptions struct {
	clusterFlags
	jobs      string
	listen    string
	admin     string
	insecure  bool
	compat    bool
	clients   string
	keytab    string
	tls       serve.TLSFiles
	audit     string
	auditKeys string
	limits    serve.Limits
	sizes     struct{ bytes, body, memory, scan spec.Size }
}

func newServeCmd(g *globals) *cobra.Command {
	o := &serveOptions{}
	cmd := &cobra.Command{
		Use:   "serve --jobs DIR",
		Short: "Serve the rows of tables over HTTP, read-only",
		Long: `Serve answers over HTTP what get and scan print: each job file NAME.yaml in --jobs
is served as /v1/NAME/rows, /v1/NAME/scan and /v1/NAME/rows:batch. / is a page to
search with, /openapi.json describes all of it for programs, /healthz and /readyz
are for those that run the service. What no job file declares cannot be read.

An answer is complete, or names the page that continues it, or is a problem
(application/problem+json). Job files are read again when they change, and on
SIGHUP; if one of them is wrong, all of those before stay in use. SIGTERM ends the
service: it is no more ready, answers what is under way, and ends with 0.

On a loopback address callers need not be known. Another address needs --clients,
which names who may read what, by token, certificate or Kerberos ticket, and --tls-cert; --insecure
does without. --audit has a line for each request: who read how much of what.`,
		Example: `  bulkload serve --jobs /etc/bulkload/jobs
  curl 'http://127.0.0.1:8091/v1/check/rows?check_id=A208848994'
  bulkload serve --jobs jobs --compat --deadline 5s --max-in-flight 64
  bulkload serve --jobs jobs --listen :8443 --clients clients.yaml --tls-cert tls.crt --tls-key tls.key --audit audit.jsonl`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd, g) },
	}
	d := serve.Limits{}.WithDefaults()
	o.limits = d
	o.limits.PerClient = 0 // half of those in flight, however many are asked for
	o.sizes.bytes, o.sizes.body, o.sizes.memory, o.sizes.scan = spec.Size(d.Bytes), spec.Size(d.Body), spec.Size(d.Memory), spec.Size(d.ScanMemory)
	f := cmd.Flags()
	o.clusterFlags.add(f)
	settings.Bind(f, settings.To{
		"jobs": &o.jobs, "listen": &o.listen, "admin-listen": &o.admin, "clients": &o.clients, "negotiate-keytab": &o.keytab, "tls-cert": &o.tls.Cert, "tls-key": &o.tls.Key, "tls-client-ca": &o.tls.ClientCA,
		"audit": &o.audit, "audit-keys": &o.auditKeys, "insecure": &o.insecure, "compat": &o.compat, "deadline": &o.limits.Deadline, "max-rows": &o.limits.Rows, "max-bytes": &o.sizes.bytes,
		"max-keys": &o.limits.Keys, "max-body": &o.sizes.body, "max-in-flight": &o.limits.InFlight, "max-per-client": &o.limits.PerClient, "max-rate": &o.limits.Rate, "batch-reads": &o.limits.BatchReads,
		"max-queue": &o.limits.Queue, "queue-wait": &o.limits.QueueWait, "max-connections": &o.limits.Connections, "memory": &o.sizes.memory, "scan-memory": &o.sizes.scan,
		"drain-delay": &o.limits.DrainDelay, "drain-time": &o.limits.Drain,
	})
	return cmd
}

func (o *serveOptions) run(cmd *cobra.Command, g *globals) error {
	if o.jobs == "" {
		return usageError{settings.AboutFlags(errors.New("--jobs is missing: the directory of the job files"), "jobs")}
	}
	if err := o.checkTLS(); err != nil {
		return usageError{err}
	}
	env, err := o.open(g)
	if err != nil {
		return err
	}
	defer env.Close()
	// Here the heap is many small answers, and two thirds of what is allocated are HBase's, of 31 KiB for a request of 15 rows: at 60,
	// 200 callers take 83 MB instead of 94, for a tenth more of the processor.
	collectAt(60)
	l, err := openListener(cmd.Context(), o.listen)
	if err != nil {
		return usageError{settings.AboutFlags(fmt.Errorf("--listen: %w", err), "listen")}
	}
	defer l.Close()
	hosts, err := o.hosts(l.Addr())
	if err != nil {
		return usageError{settings.AboutFlags(err, "listen")}
	}
	o.limits.Bytes, o.limits.Body, o.limits.Memory, o.limits.ScanMemory = int64(o.sizes.bytes), int64(o.sizes.body), int64(o.sizes.memory), int64(o.sizes.scan)
	options := serve.Options{
		Jobs: o.jobs, Clients: o.clients, Keytab: o.keytab, Dial: dialFor(env), Ticket: env.Ticket, Limits: o.limits, Compat: o.compat, Hosts: hosts, Version: thisBuild().Version, Log: g.logger(),
		AuditKeys: serve.AuditKeys(o.auditKeys),
	}
	if o.tls.Cert != "" {
		options.TLS = &o.tls
	}
	var audit *appendFile
	if o.audit != "" {
		if audit, err = openAppend(o.audit); err != nil {
			return usageError{settings.AboutFlags(fmt.Errorf("--audit: %w", err), "audit")}
		}
		defer audit.Close()
		options.Audit = audit
	}
	if o.admin != "" {
		if options.Admin, err = openListener(cmd.Context(), o.admin); err != nil {
			return usageError{settings.AboutFlags(fmt.Errorf("--admin-listen: %w", err), "admin-listen")}
		}
		defer options.Admin.Close()
	}
	s, err := serve.Open(options)
	if err != nil {
		return usageError{err}
	}
	if options.Admin != nil {
		g.logger().Info("listening for health and metrics", "address", options.Admin.Addr().String())
	}
	g.logger().Info("listening", "address", l.Addr().String())
	defer onHangup(cmd.Context(), func() {
		if err := s.Reload(); err != nil {
			g.logger().Error("job files, clients or certificates are invalid; the previous ones stay in use", "error", err)
		}
		if audit != nil {
			if err := audit.Reopen(); err != nil {
				g.logger().Error("failed to reopen the audit log; the open file stays in use", "error", err)
			}
		}
	})()
	return fail.With(fail.Load, s.Serve(cmd.Context(), l))
}

// dialFor opens the cluster of an environment.
func dialFor(env *cluster.Env) func(context.Context) (serve.Cluster, error) {
	return func(ctx context.Context) (serve.Cluster, error) {
		ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
		defer cancel()
		c, err := env.Dial(ctx)
		if err != nil {
			return nil, err
		}
		return c, nil
	}
}
