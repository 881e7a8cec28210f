package hdfsio

import (
	"context"
	"errors"
	"fmt"
	"net"

	"bulkload/internal/hadoop/hadooprpc"
	"bulkload/pkg/kerberos"
)

// Security is how a secured cluster is reached: by a Kerberos login or by a delegation token, with each connection
// protected as the cluster asks for it.
type Security struct {
	// Kerberos is the login. It is not closed by the file system.
	Kerberos *kerberos.Client
	// Token is a delegation token of the cluster; it comes before Kerberos.
	Token *kerberos.Token
	// Principal is the principal of the NameNodes, dfs.namenode.kerberos.principal.
	Principal string
	// RPC and Data are the protections that the configuration asks for, the preferred one first: hadoop.rpc.protection and
	// dfs.data.transfer.protection. None: the strongest that the cluster offers.
	RPC, Data []kerberos.Quality
}

// Names of the keys that [Conf.Security] reads, for errors.
const (
	keyPrincipal = "dfs.namenode.kerberos.principal"
	keyRPC       = "hadoop.rpc.protection"
	keyData      = "dfs.data.transfer.protection"
)

func (s *Security) rpc() *hadooprpc.Options {
	return &hadooprpc.Options{Kerberos: s.Kerberos, Token: s.Token, Principal: s.Principal, PrincipalKey: keyPrincipal,
		Qualities: s.RPC, QualityKey: keyRPC, Protocol: hadooprpc.ClientProtocol}
}

// ErrSecured is of a cluster that wants a login where the configuration says nothing of it.
var ErrSecured = errors.New("the NameNode wants a Kerberos login, the configuration has simple authentication: set " + HadoopAuthentication + " to kerberos in core-site.xml (is HADOOP_CONF_DIR that of this cluster?)")

// wantsLogin explains a connection that a NameNode has broken: one that wants a login does so without a word.
func (h *HDFS) wantsLogin(ctx context.Context) error {
	if h.o.Security != nil {
		return nil
	}
	for _, addr := range h.o.Addresses {
		nc, err := (&net.Dialer{Timeout: h.o.DialTimeout}).DialContext(ctx, "tcp", addr)
		if err != nil {
			continue
		}
		ctx, cancel := context.WithTimeout(ctx, h.o.DialTimeout)
		methods, err := hadooprpc.Offers(ctx, nc)
		cancel()
		if err == nil && len(methods) > 0 {
			return fmt.Errorf("namenode %s: %w", addr, ErrSecured)
		}
	}
	return nil
}

// refused says that a login cannot succeed however often it is tried: the two sides are configured for different things.
func refused(err error) bool {
	_, mismatch := errors.AsType[*kerberos.MismatchError](err)
	return mismatch || errors.Is(err, hadooprpc.ErrSimple) || errors.Is(err, kerberos.ErrUnknownService)
}

// DelegationToken asks for a token with which another program can act as the user that is logged in. Its service is filled in
// as Hadoop's programs expect it. cancel ends it.
func (h *HDFS) DelegationToken(ctx context.Context, renewer string) (t *kerberos.Token, cancel func(context.Context) error, err error) {
	_, err = h.dfs.With(ctx, func(ctx context.Context, c *hadooprpc.Caller) (err error) {
		t, err = c.DelegationToken(ctx, renewer)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	return t, func(ctx context.Context) error {
		_, err := h.dfs.With(ctx, func(ctx context.Context, c *hadooprpc.Caller) error { return c.CancelToken(ctx, t) })
		return err
	}, nil
}
