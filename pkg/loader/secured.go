package loader

import (
	"context"
	"errors"
	"fmt"

	"bulkload/pkg/hbaserpc"
)

// ErrSecured is of a cluster that wants a login where the configuration says nothing of it.
var ErrSecured = errors.New("the server wants a Kerberos login, the configuration has simple authentication: set hbase.security.authentication to kerberos in hbase-site.xml (most likely HBASE_CONF_DIR names the directory of another cluster, or none)")

// wantsLogin explains a connection that a server has broken: one that wants a login does so without a word that gohbase
// gives on. It is nil where that is not the cause.
func (c *Cluster) wantsLogin(ctx context.Context, err error) error {
	e, broken := errors.AsType[*ConnectionError](err)
	if c.cfg.Secure != nil || !broken {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, c.cfg.DialTimeout)
	defer cancel()
	nc, err := c.cfg.Dialer(ctx, "tcp", e.Addr)
	if err != nil {
		return nil
	}
	if wants, err := hbaserpc.WantsKerberos(ctx, nc); err != nil || !wants {
		return nil
	}
	return fmt.Errorf("%s: %w", e.Addr, ErrSecured)
}
