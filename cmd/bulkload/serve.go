package main

import (
	"context"
	"errors"
	"time"

	"bulkload/internal/cli/settings"
	"bulkload/internal/cli/usage"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/spec"
	"bulkload/internal/serve"

	"github.com/spf13/cobra"
)

type serveOptions struct {
	clusterFlags
	serviceFlags
	jobs      string
	compat    bool
	auditKeys string
}

func newServeCmd(g *globals) *cobra.Command {
	o := &serveOptions{}
	cmd := &cobra.Command{
		Use:   "serve --jobs DIR",
		Short: "Serve the rows of tables over HTTP, read-only",
		Long: `Serve answers over HTTP what get and scan print: each job file NAME.yaml in --jobs
is served as /v1/NAME/rows, /v1/NAME/scan and /v1/NAME/rows:batch. / is a search page,
/openapi.json describes the service for programs, /healthz and /readyz are for its
operators. Only what a job file declares can be read.

An answer is complete, or names its next page, or is a problem
(application/problem+json). Serve reads the job files again when they change, and on
SIGHUP; if one of them is wrong, it keeps the previous ones. After SIGTERM it reports
not ready, answers the requests in progress, and exits with 0.

On a loopback address, callers need no authentication. Another address needs --clients,
which says who may read what, by token, certificate or Kerberos ticket, and --tls-cert,
or else --insecure. --audit writes a line for each request: who read how much of what.`,
		Example: `  bulkload serve --jobs /etc/bulkload/jobs
  curl 'http://127.0.0.1:8091/v1/check/rows?check_id=A208848994'
  bulkload serve --jobs jobs --compat --deadline 5s --max-in-flight 64
  bulkload serve --jobs jobs --listen :8443 --clients clients.yaml --tls-cert tls.crt --tls-key tls.key --audit audit.jsonl`,
		Args: usage.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd, g) },
	}
	o.limits = serve.Limits{}.WithDefaults()
	o.limits.PerClient = 0 // default: half of the requests in flight, whatever their limit
	f := cmd.Flags()
	o.clusterFlags.add(f)
	o.serviceFlags.add(f)
	settings.Bind(f, settings.To{
		"jobs": &o.jobs, "audit-keys": &o.auditKeys, "compat": &o.compat, "max-rows": &o.limits.Rows, "max-bytes": (*spec.Size)(&o.limits.Bytes),
		"max-keys": &o.limits.Keys, "max-body": (*spec.Size)(&o.limits.Body), "max-per-client": &o.limits.PerClient, "batch-reads": &o.limits.BatchReads,
		"max-queue": &o.limits.Queue, "queue-wait": &o.limits.QueueWait, "memory": (*spec.Size)(&o.limits.Memory), "scan-memory": (*spec.Size)(&o.limits.ScanMemory),
	})
	return cmd
}

func (o *serveOptions) run(cmd *cobra.Command, g *globals) error {
	if o.jobs == "" {
		return fail.Usage(settings.AboutFlags(errors.New("--jobs is missing: the directory of the job files"), "jobs"))
	}
	if err := o.checkTLS(); err != nil {
		return fail.Usage(err)
	}
	return o.withEnv(g, func(env *cluster.Env) error {
		// Here the heap is many small responses, and two thirds of the allocations are in the HBase client: 31 KiB for a request of
		// 15 rows. At 60, 200 callers take 83 MB instead of 94, for a tenth more of the processor.
		collectAt(60)
		return o.serve(cmd.Context(), g, serve.Options{Jobs: o.jobs, Dial: dialFor(env), Ticket: env.Ticket, Compat: o.compat, AuditKeys: serve.AuditKeys(o.auditKeys)})
	})
}

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
