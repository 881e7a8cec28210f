package hdfsio

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"bulkload/internal/hadoop/datatransfer"
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
	// Principal is that of the NameNodes, dfs.namenode.kerberos.principal.
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

func (s *Security) rpc() hadooprpc.Options {
	return hadooprpc.Options{Kerberos: s.Kerberos, Token: s.Token, Principal: s.Principal, PrincipalKey: keyPrincipal,
		Qualities: s.RPC, QualityKey: keyRPC, Protocol: hadooprpc.ClientProtocol}
}

// secureNameNode logs in at a NameNode. The connection is closed when that fails.
func (h *HDFS) secureNameNode(ctx context.Context, nc net.Conn, addr string) (net.Conn, error) {
	if h.o.Security == nil {
		return nc, nil
	}
	c, err := h.logIn(ctx, nc, addr)
	if err != nil {
		return nil, err
	}
	return c.Library(), nil
}

func (h *HDFS) logIn(ctx context.Context, nc net.Conn, addr string) (*hadooprpc.Conn, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, errors.Join(err, nc.Close())
	}
	ctx, cancel := context.WithTimeoutCause(ctx, h.o.IOTimeout, fmt.Errorf("no answer within %s", h.o.IOTimeout))
	defer cancel()
	return hadooprpc.Dial(ctx, nc, host, h.o.Security.rpc())
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

// dialCaller opens a connection to a NameNode for calls of one's own. Close it after use.
func (h *HDFS) dialCaller(ctx context.Context, addr string) (*hadooprpc.Caller, error) {
	nc, err := (&net.Dialer{Timeout: h.o.DialTimeout}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	return h.openCaller(ctx, nc, addr)
}

// call makes calls at the first NameNode that is not in standby.
func (h *HDFS) call(ctx context.Context, do func(*hadooprpc.Caller) error) error {
	var errs []error
	for _, addr := range h.o.Addresses {
		c, err := h.dialCaller(ctx, addr)
		if err == nil {
			err = do(c)
			c.Close()
		}
		if e, ok := errors.AsType[*hadooprpc.Error](err); err == nil || ok && e.Class != "org.apache.hadoop.ipc.StandbyException" {
			return err
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// secureDataNode protects a connection to a DataNode, as the configuration and the NameNode's defaults say.
func (h *HDFS) secureDataNode(ctx context.Context, nc net.Conn, encrypted bool) (net.Conn, error) {
	sec := h.o.Security
	o := datatransfer.Options{QualityKey: keyData}
	if sec != nil {
		o.Qualities = sec.Data
	}
	switch {
	case encrypted:
		key, err := h.dataKey(ctx)
		if err != nil {
			return nil, errors.Join(err, nc.Close())
		}
		o.Key, o.Qualities = key, nil
		o.UnknownKey = h.forgetKey
	case sec == nil || len(sec.Data) == 0 && privileged(nc.RemoteAddr()):
		return nc, nil
	}
	return datatransfer.New(nc, o), nil
}

// privileged says that only the superuser of its host could open an address' port: such DataNodes prove themselves by it
// and take no login unless one is configured.
func privileged(a net.Addr) bool {
	t, ok := a.(*net.TCPAddr)
	return ok && t.Port < 1024
}

// dataKey is the key for encrypted data that is in use.
type dataKey struct {
	mu  sync.Mutex
	key *datatransfer.Key
	old time.Time // when another one is asked for
}

// dataKey gives the key for encrypted data.
func (h *HDFS) dataKey(ctx context.Context) (*datatransfer.Key, error) {
	h.key.mu.Lock()
	defer h.key.mu.Unlock()
	if h.key.key != nil && time.Now().Before(h.key.old) {
		return h.key.key, nil
	}
	var k *hadooprpc.EncryptionKey
	err := h.call(ctx, func(c *hadooprpc.Caller) (err error) {
		k, err = c.EncryptionKey(ctx)
		return err
	})
	if err != nil || k == nil {
		return nil, err
	}
	h.key.key = &datatransfer.Key{ID: k.ID, Pool: k.Pool, Nonce: k.Nonce, Key: k.Key}
	h.key.old = time.Now().Add(min(time.Until(k.Expiry)/2, 10*time.Minute))
	return h.key.key, nil
}

// forgetKey has the next connection ask for another key.
func (h *HDFS) forgetKey() {
	h.key.mu.Lock()
	defer h.key.mu.Unlock()
	h.key.key = nil
}

// DelegationToken asks for a token with which another program can act as the user that is logged in. Its service is filled in
// as Hadoop's programs expect it. cancel ends it.
func (h *HDFS) DelegationToken(ctx context.Context, renewer string) (t *kerberos.Token, cancel func(context.Context) error, err error) {
	err = h.call(ctx, func(c *hadooprpc.Caller) (err error) {
		t, err = c.DelegationToken(ctx, renewer)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	return t, func(ctx context.Context) error {
		return h.call(ctx, func(c *hadooprpc.Caller) error { return c.CancelToken(ctx, t) })
	}, nil
}
