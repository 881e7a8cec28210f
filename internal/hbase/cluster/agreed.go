package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"bulkload/internal/hadoop/frames"
	"bulkload/internal/hadoop/hadooprpc"
	"bulkload/internal/hadoop/hbaserpc"
	"bulkload/internal/hadoop/tlsconf"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/kerberos"
)

const keyNameNode = "dfs.namenode.kerberos.principal"

// askTimeout is the time limit for querying one server.
const askTimeout = 20 * time.Second

// NameNode holds a NameNode's security requirements and the negotiated protection.
type NameNode struct {
	Methods       []string         // authentication methods offered; empty: no authentication
	RPC           kerberos.Quality // the negotiated quality of protection; 0 without a login
	DataEncrypted bool             // the cluster's dfs.encrypt.data.transfer
}

// AskNameNode queries the NameNodes of a location until one answers that is not in standby. The error is [hadooprpc.ErrSimple] or
// [hdfsio.ErrSecured] if the configuration and the server disagree about authentication, and a [*kerberos.MismatchError] if they
// disagree about the protection.
func (e *Env) AskNameNode(ctx context.Context, l hdfsio.Location) (*NameNode, error) {
	var errs []error
	for _, addr := range l.Addresses {
		n, err := e.askNameNode(ctx, addr)
		if err == nil {
			return n, nil
		}
		errs = append(errs, fmt.Errorf("namenode %s: %w", addr, err))
	}
	return nil, errors.Join(errs...)
}

func (e *Env) askNameNode(ctx context.Context, addr string) (*NameNode, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, askTimeout, fmt.Errorf("no answer within %s", askTimeout))
	defer cancel()
	var d net.Dialer
	nc, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	n := &NameNode{}
	if n.Methods, err = hadooprpc.Offers(ctx, nc); err != nil {
		return nil, err
	}
	secured := e.Conf.Kerberos(hdfsio.HadoopAuthentication)
	if !secured && len(n.Methods) > 0 {
		return nil, hdfsio.ErrSecured
	}
	if nc, err = d.DialContext(ctx, "tcp", addr); err != nil {
		return nil, err
	}
	c, err := e.logInNameNode(ctx, nc, addr, secured)
	if err != nil {
		return nil, err
	}
	if secured {
		n.RPC = c.Quality()
	}
	caller := hadooprpc.NewCaller(c, hadooprpc.ClientProtocol)
	defer caller.Close()
	n.DataEncrypted, err = dataEncrypted(ctx, caller)
	return n, err
}

// logInNameNode logs in over nc, which it closes if that fails.
func (e *Env) logInNameNode(ctx context.Context, nc net.Conn, addr string, secured bool) (*hadooprpc.Conn, error) {
	if !secured {
		user, err := e.User()
		if err != nil {
			return nil, errors.Join(err, nc.Close())
		}
		return hadooprpc.Open(nc, user, hadooprpc.ClientProtocol)
	}
	o := hadooprpc.Options{Principal: e.Conf.Value(keyNameNode), PrincipalKey: keyNameNode, Pattern: e.Conf.Value(keyNameNode + ".pattern"), QualityKey: "hadoop.rpc.protection", Protocol: hadooprpc.ClientProtocol}
	host, _, err := net.SplitHostPort(addr)
	if err == nil {
		o.Kerberos, err = e.Login()
	}
	if err == nil {
		o.Qualities, err = e.qualities(o.QualityKey)
	}
	if err != nil {
		return nil, errors.Join(err, nc.Close())
	}
	return hadooprpc.Dial(ctx, nc, host, o)
}

// errAnswer reports an answer that is not a valid Protocol Buffers message.
var errAnswer = errors.New("the answer is malformed")

// dataEncrypted returns encryptDataTransfer of the server's defaults (ClientNamenodeProtocol.proto, Hadoop 3.4).
func dataEncrypted(ctx context.Context, c *hadooprpc.Caller) (encrypted bool, err error) {
	answer, err := c.Call(ctx, "getServerDefaults", nil)
	if err != nil {
		return false, fmt.Errorf("ask for the defaults of HDFS: %w", err)
	}
	if !frames.Fields(answer, func(field protowire.Number, _ uint64, data []byte) {
		if field == 1 {
			frames.Fields(data, func(field protowire.Number, n uint64, _ []byte) { encrypted = encrypted || field == 6 && n != 0 })
		}
	}) {
		err = fmt.Errorf("ask for the defaults of HDFS: %w", errAnswer)
	}
	return encrypted, err
}

// AskHBase logs in at a region server, given as host:port, and returns the negotiated quality of protection.
func (e *Env) AskHBase(ctx context.Context, addr string) (kerberos.Quality, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, askTimeout, fmt.Errorf("no answer within %s", askTimeout))
	defer cancel()
	login, err := e.Login()
	if err != nil {
		return 0, err
	}
	q, err := e.qualities("hbase.rpc.protection")
	if err != nil {
		return 0, err
	}
	tls, err := tlsconf.Read(e.Conf.Value)
	if err != nil {
		return 0, err
	}
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return 0, err
	}
	nc, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return 0, err
	}
	c, err := hbaserpc.Secure(ctx, nc, host, e.hbaseLogin(login, tls, q, false))
	if err != nil {
		return 0, fmt.Errorf("region server %s: %w", addr, err)
	}
	agreed := kerberos.Authentication
	if s, ok := c.(*hbaserpc.SecureConn); ok {
		agreed = s.Quality()
	}
	return agreed, c.Close()
}
