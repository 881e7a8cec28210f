package hdfsio

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"
	"time"

	"bulkload/internal/hadoop/dfs"
	"bulkload/internal/hadoop/hadooprpc"
	"bulkload/pkg/kerberos"
	"bulkload/pkg/setting"
)

// Security holds the settings for a secured cluster: a Kerberos login or a delegation token, with each connection
// protected as the cluster requires.
type Security struct {
	// Kerberos is the login. The file system does not close it.
	Kerberos *kerberos.Client
	// Token is a delegation token of the cluster; it takes precedence over Kerberos.
	Token *kerberos.Token
	// Principal is the principal of the NameNodes, dfs.namenode.kerberos.principal.
	Principal string
	// Pattern is a glob of principals that are accepted in place of Principal, dfs.namenode.kerberos.principal.pattern; it may be empty.
	Pattern string
	// RPC and Data are the configured protections, the preferred one first: hadoop.rpc.protection and
	// dfs.data.transfer.protection. None: the strongest that the cluster offers.
	RPC, Data []kerberos.Quality
}

// Configuration keys that errors name.
const (
	keyPrincipal = "dfs.namenode.kerberos.principal"
	keyRPC       = "hadoop.rpc.protection"
	keyData      = "dfs.data.transfer.protection"
)

func (s *Security) rpc() *hadooprpc.Options {
	return &hadooprpc.Options{Kerberos: s.Kerberos, Token: s.Token, Principal: s.Principal, PrincipalKey: keyPrincipal, Pattern: s.Pattern,
		Qualities: s.RPC, QualityKey: keyRPC, Protocol: hadooprpc.ClientProtocol}
}

// ErrSecured is the error for a cluster that requires a login when the configuration has none.
var ErrSecured = errors.New("the NameNode requires Kerberos, the configuration has simple authentication: set " + HadoopAuthentication + " to kerberos in core-site.xml (is HADOOP_CONF_DIR that of this cluster?)")

// wantsLogin explains a connection that a NameNode has closed: one that requires a login closes it without a message.
func (h *HDFS) wantsLogin(ctx context.Context) error {
	if h.options.Security != nil {
		return nil
	}
	for _, addr := range h.options.Addresses {
		nc, err := (&net.Dialer{Timeout: h.options.DialTimeout}).DialContext(ctx, "tcp", addr)
		if err != nil {
			continue
		}
		ctx, cancel := context.WithTimeout(ctx, h.options.DialTimeout)
		methods, err := hadooprpc.Offers(ctx, nc)
		cancel()
		if err == nil && len(methods) > 0 {
			return fmt.Errorf("namenode %s: %w", addr, ErrSecured)
		}
	}
	return nil
}

// DelegationToken requests a token with which another program can act as the logged-in user. Its service is set in the form
// that Hadoop's programs expect. cancel cancels it. The call is repeated like a read: a token that is lost expires by itself.
func (h *HDFS) DelegationToken(ctx context.Context, renewer string) (t *kerberos.Token, cancel func(context.Context) error, err error) {
	err = h.repeat(ctx, "delegation token", "/", func() error {
		_, err := h.dfs.With(ctx, func(ctx context.Context, c *hadooprpc.Caller) (err error) {
			t, err = c.DelegationToken(ctx, renewer)
			return err
		})
		return dfs.Remote("getDelegationToken", err)
	})
	if err != nil {
		return nil, nil, err
	}
	return t, func(ctx context.Context) error {
		_, err := h.dfs.With(ctx, func(ctx context.Context, c *hadooprpc.Caller) error { return c.CancelToken(ctx, t) })
		return err
	}, nil
}

// firstAnswer is how long a file system is tried if none of its NameNodes has ever accepted a connection: its address is wrong, or
// it is not running. If one was reached before, the normal timeout applies, as it may be restarting.
const firstAnswer = 5 * time.Second

// An UnmetError reports that no NameNode of a file system accepts a connection, and that none has before.
type UnmetError struct {
	Addresses []string
	Err       error
}

func (e *UnmetError) message() setting.Text {
	why := ""
	if errors.Is(e.Err, syscall.ECONNREFUSED) {
		why = " (connection refused)"
	}
	return setting.Textf("NameNode %s does not answer%s: see %s", strings.Join(e.Addresses, ", "), why, setting.HDFS)
}

func (e *UnmetError) Error() string { return e.message().String() }
func (e *UnmetError) Unwrap() error { return e.Err }

// Settings returns the settings that the message names; In returns the message with each setting as words names it.
func (e *UnmetError) Settings() []setting.Name                  { return e.message().Settings() }
func (e *UnmetError) In(words func(setting.Name) string) string { return e.message().In(words) }

// unmet returns an [UnmetError] for a failed connect, nil for other errors and if a NameNode was reached before.
func (h *HDFS) unmet(err error) error {
	op, ok := errors.AsType[*net.OpError](err)
	if !ok || op.Op != "dial" || h.dfs.Met() {
		return nil
	}
	return &UnmetError{h.options.Addresses, err}
}
