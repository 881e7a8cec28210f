package cluster

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"bulkload/internal/hadoop/hbaserpc"
	"bulkload/internal/hadoop/tlsconf"
	"bulkload/internal/model/fail"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/kerberos"
	"bulkload/pkg/loader"
)

// Identity is the user that a job acts as on secured clusters. The zero value is the user of the ticket cache.
type Identity struct {
	Principal string // user@REALM; empty: the principal of the ticket cache
	Keytab    string // path; empty: the ticket cache is used
	Cache     string // name of the ticket cache, FILE:PATH or PATH; empty: KRB5CCNAME, or else the user's default cache
}

// secrets holds the login of an environment and the tokens that were issued to it.
type secrets struct {
	mu     sync.Mutex
	login  *kerberos.Client
	user   string                 // the principal's user name on HDFS and HBase
	tokens map[string][]lentToken // by service, the newest one last
}

// lentToken is a delegation token that is passed to HBase with each load.
type lentToken struct {
	token  *kerberos.Token
	since  time.Time
	cancel func(context.Context) error
}

// tokenAge is the age after which a new token is requested. HDFS's tokens are valid for a day by default.
const tokenAge = time.Hour

// tokenWait limits the wait for a new token while there is an earlier one, which may still be valid.
const tokenWait = 20 * time.Second

// Login returns the Kerberos login of the environment. It logs in on the first call, and does not wait for KDCs after the end of e.Context.
func (e *Env) Login() (*kerberos.Client, error) {
	e.secrets.mu.Lock()
	defer e.secrets.mu.Unlock()
	if e.secrets.login != nil {
		return e.secrets.login, nil
	}
	conf, err := kerberos.LoadConfig("")
	if err != nil {
		return nil, fail.With(fail.Config, err)
	}
	ctx := e.Context
	if ctx == nil {
		ctx = context.Background()
	}
	c, err := kerberos.Login(ctx, kerberos.Options{Config: conf, Principal: e.Identity.Principal, Keytab: e.Identity.Keytab, Cache: e.Identity.Cache})
	if errors.Is(err, kerberos.ErrNoKDC) {
		return nil, fail.With(fail.Load, err) // the KDC may answer later
	}
	if err != nil {
		return nil, fail.With(fail.Check, err)
	}
	if mode, open := kerberos.OpenToOthers(e.Identity.Keytab); open {
		e.Log.Warn("every user of this host can read the keytab and act as its principal: chmod 600 it", "keytab", e.Identity.Keytab, "mode", fmt.Sprintf("%04o", mode))
	}
	until, _ := c.Until()
	e.Log.Info("logged in", "principal", c.Principal(), "until", until.UTC().Format(time.RFC3339))
	user, err := e.localName(c.Principal(), conf.Realm())
	if err != nil {
		c.Close()
		return nil, fail.With(fail.Config, err)
	}
	e.secrets.login, e.secrets.user = c, user
	return c, nil
}

// Ticket renews the ticket of the Kerberos login if that is due, and returns when the ticket expires, zero if there is no
// login. The error is the reason why the ticket could not be renewed.
func (e *Env) Ticket(ctx context.Context) (end time.Time, err error) {
	e.secrets.mu.Lock()
	c := e.secrets.login
	e.secrets.mu.Unlock()
	if c == nil {
		return end, nil
	}
	err = c.Renew(ctx)
	end, _ = c.Until()
	return end, err
}

// localName returns the user name that servers derive from a principal. It uses the rules of the configuration, which normally equal
// the servers' rules, and returns the principal's first part if no rule applies. If a server has other rules, it refuses a later request,
// because the files belong to a user with another name.
func (e *Env) localName(principal, realm string) (string, error) {
	const key = "hadoop.security.auth_to_local"
	rules, err := kerberos.ParseLocalNames(e.Conf.Value(key), realm)
	if err != nil {
		return "", fmt.Errorf("%w (%s)", err, origin(e.Conf, key))
	}
	name, ok, err := rules.Name(principal)
	if err != nil {
		return "", fmt.Errorf("%w (%s)", err, origin(e.Conf, key))
	}
	if !ok {
		name, _, _ = strings.Cut(principal, "@")
		name, _, _ = strings.Cut(name, "/")
	}
	return name, nil
}

// User returns the user's name on HDFS: with Kerberos the name that servers derive from the principal, else the configured one.
func (e *Env) User() (string, error) {
	if !e.Conf.Kerberos(hdfsio.HadoopAuthentication) || len(e.Tokens) > 0 {
		return e.Conf.User()
	}
	if _, err := e.Login(); err != nil {
		return "", err
	}
	return e.secrets.user, nil
}

// secureHDFS sets the security options of HDFS if the configuration requires Kerberos.
func (e *Env) secureHDFS(l hdfsio.Location, o *hdfsio.HDFSOptions) (err error) {
	if !e.Conf.Kerberos(hdfsio.HadoopAuthentication) {
		return nil
	}
	s := &hdfsio.Security{Principal: e.Conf.Value(keyNameNode), Pattern: e.Conf.Value(keyNameNode + ".pattern")}
	if len(e.Tokens) > 0 {
		s.Token, err = e.tokenFor(l)
	} else if s.Kerberos, err = e.Login(); err == nil {
		o.User = e.secrets.user
	}
	if err != nil {
		return err
	}
	if s.RPC, err = e.qualities("hadoop.rpc.protection"); err != nil {
		return err
	}
	if s.Data, err = e.qualities("dfs.data.transfer.protection"); err != nil {
		return err
	}
	o.Security = s
	return nil
}

// secureKeys sets the security options of a KMS: the tokens of a container, and TLS with the trust store of ssl-client.xml.
func (e *Env) secureKeys(k *hdfsio.Keys) {
	for _, t := range e.Tokens {
		if t.Kind == hdfsio.KeyTokenKind {
			k.Tokens = append(k.Tokens, t)
		}
	}
	k.TLS = e.WebTLS
}

// WebTLS returns the settings of TLS for Hadoop's web servers: with the trust store of ssl-client.xml, or the system's certificates.
func (e *Env) WebTLS() (*tls.Config, error) {
	roots, err := tlsconf.Trusted(e.Conf.Value)
	return &tls.Config{RootCAs: roots}, err
}

// hdfsToken is the kind of a NameNode's delegation tokens.
const hdfsToken = "HDFS_DELEGATION_TOKEN"

// tokenFor returns the token of a file system: the one whose service matches, or the only one.
func (e *Env) tokenFor(l hdfsio.Location) (*kerberos.Token, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	service, err := tokenService(ctx, l, e.Conf.Bool("hadoop.security.token.service.use_ip", true))
	var all []*kerberos.Token
	for _, t := range e.Tokens {
		if t.Kind != hdfsToken {
			continue
		}
		if err == nil && t.Service == service {
			return t, nil
		}
		all = append(all, t)
	}
	if len(all) == 1 {
		return all[0], nil
	}
	return nil, fail.With(fail.Check, errors.Join(fmt.Errorf("none of %d delegation tokens is for %s (%s)", len(all), l.Authority, service), err))
}

// qualities returns the protections that are configured under a key.
func (e *Env) qualities(key string) ([]kerberos.Quality, error) {
	q, err := kerberos.ParseQualities(e.Conf.Value(key))
	if err != nil {
		return nil, fail.Errorf(fail.Config, "%s: %w", key, err)
	}
	return q, nil
}

// secureHBase sets the security options of HBase if the configuration requires TLS, Kerberos or both.
func (e *Env) secureHBase(cfg *loader.Config) error {
	tls, err := tlsconf.Read(e.Conf.Value)
	if err != nil {
		return fail.With(fail.Config, err)
	}
	if !e.Conf.Kerberos(hdfsio.HBaseAuthentication) {
		if tls != nil {
			cfg.Secure = func(ctx context.Context, nc net.Conn, host string, _ bool) (net.Conn, error) {
				return hbaserpc.Secure(ctx, nc, host, hbaserpc.Security{TLS: tls})
			}
		}
		return nil
	}
	login, err := e.Login()
	if err != nil {
		return err
	}
	q, err := e.qualities("hbase.rpc.protection")
	if err != nil {
		return err
	}
	cfg.EffectiveUser, cfg.Owner = login.Principal(), e.secrets.user
	cfg.Secure = func(ctx context.Context, nc net.Conn, host string, master bool) (net.Conn, error) {
		return hbaserpc.Secure(ctx, nc, host, e.hbaseLogin(login, tls, q, master))
	}
	if e.Conf.Kerberos(hdfsio.HadoopAuthentication) {
		cfg.Token = e.loadToken
	}
	return nil
}

// hbaseLogin returns the login options for a master or a region server.
func (e *Env) hbaseLogin(login *kerberos.Client, tls *tlsconf.Client, q []kerberos.Quality, master bool) hbaserpc.Security {
	key := "hbase.regionserver.kerberos.principal"
	if master {
		key = "hbase.master.kerberos.principal"
	}
	return hbaserpc.Security{TLS: tls, Kerberos: login, Principal: e.Conf.Value(key), PrincipalKey: key, Qualities: q}
}

// loadToken returns the delegation token with which HBase reads files of this user. It requests a new one after an hour.
func (e *Env) loadToken(ctx context.Context, file string) (*kerberos.Token, error) {
	l, err := e.Conf.Resolve(file)
	if err != nil {
		return nil, err
	}
	fsys, err := e.FS(l)
	if err != nil {
		return nil, err
	}
	h, ok := fsys.(*hdfsio.HDFS)
	if !ok {
		return nil, fmt.Errorf("%s is not on HDFS: HBase cannot take it as another user", l)
	}
	service, err := tokenService(ctx, l, e.Conf.Bool("hadoop.security.token.service.use_ip", true))
	if err != nil {
		return nil, err
	}
	return e.lend(ctx, service, h.DelegationToken)
}

// lend returns the newest token for a service if it is less than an hour old; otherwise it gets a new one. Earlier tokens stay valid until the
// environment is closed, because calls that were sent with them may not have ended.
func (e *Env) lend(ctx context.Context, service string, get func(ctx context.Context, renewer string) (*kerberos.Token, func(context.Context) error, error)) (*kerberos.Token, error) {
	e.secrets.mu.Lock()
	defer e.secrets.mu.Unlock()
	lent := e.secrets.tokens[service]
	if n := len(lent); n > 0 && time.Since(lent[n-1].since) < tokenAge {
		return lent[n-1].token, nil
	} else if n > 0 {
		limited, cancel := context.WithTimeout(ctx, tokenWait)
		defer cancel()
		ctx = limited
	}
	t, cancel, err := get(ctx, e.secrets.user) // a principal of two parts without its realm is not a renewer
	if err != nil {
		return nil, err
	}
	t.Service = service
	if e.secrets.tokens == nil {
		e.secrets.tokens = map[string][]lentToken{}
	}
	e.secrets.tokens[service] = append(lent, lentToken{t, time.Now(), cancel})
	e.Log.Debug("got a delegation token", "service", service, "kind", t.Kind)
	return t, nil
}

// tokenService returns the service name by which a region server looks up the token of a location's file system
// (SecurityUtil.buildTokenService and HAUtilClient.buildTokenServiceForLogicalUri, Hadoop 3.4).
func tokenService(ctx context.Context, l hdfsio.Location, byIP bool) (string, error) {
	if l.Logical {
		return "ha-hdfs:" + l.Authority, nil
	}
	host, port, err := net.SplitHostPort(l.Addresses[0])
	if err != nil {
		return "", err
	}
	if !byIP {
		return strings.ToLower(net.JoinHostPort(host, port)), nil
	}
	ips, err := net.DefaultResolver.LookupIP(ctx, "ip4", host)
	if err != nil {
		ips, err = net.DefaultResolver.LookupIP(ctx, "ip6", host)
	}
	if err != nil {
		return "", fmt.Errorf("find the address of the NameNode for its token: %w", err)
	}
	return net.JoinHostPort(ips[0].String(), port), nil
}

// closeSecrets cancels the tokens and closes the login.
func (e *Env) closeSecrets() {
	e.secrets.mu.Lock()
	defer e.secrets.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	for _, lent := range e.secrets.tokens {
		for _, t := range lent {
			if err := t.cancel(ctx); err != nil {
				e.Log.Debug("a delegation token was not canceled: it expires by itself", "error", err)
			}
		}
	}
	e.secrets.tokens = nil
	if e.secrets.login != nil {
		e.secrets.login.Close()
		e.secrets.login = nil
	}
}
