package kms

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"bulkload/internal/hadoop/hadooprpc"
	"bulkload/internal/hadoop/tlsconf"
	"bulkload/pkg/kerberos"
)

// Proof obtains tickets of services. A [kerberos.Client] implements it.
type Proof interface {
	Initiate(ctx context.Context, service, realm string) (*kerberos.Context, []byte, error)
}

// Options are the settings of a [Client]. Servers is required, and one of Token, Kerberos and User.
type Options struct {
	Servers  []string        // URLs from [ParseAddress]; tried in turn
	Token    *kerberos.Token // of kind [TokenKind]; it takes precedence over Kerberos
	Kerberos Proof           // it takes precedence over User
	User     string          // for simple authentication
	TLS      *tls.Config     // for https; nil: the system's certificates
	Timeout  time.Duration   // for one request; default 20 s
}

// TokenKind is the kind of a KMS's delegation tokens.
const TokenKind = "kms-dt"

const (
	defaultTimeout = 20 * time.Second
	// maxAnswer limits a response, in bytes: a key takes a few hundred.
	maxAnswer = 64 << 10
	// maxKeys limits the number of cached keys.
	maxKeys = 4096
	// keyLife is how long a key is cached: a revoked right takes effect after that time.
	keyLife = 10 * time.Minute
)

// EncryptedKey is the encrypted data key of a file, as the NameNode stores it (FileEncryptionInfoProto, Hadoop 3.4).
type EncryptedKey struct {
	Name     string // of the zone's key
	Version  string // of the zone's key, such as k1@0
	Material []byte // the data key, encrypted
	IV       []byte // for the encryption of the data key
}

// Client sends requests to one set of servers. Any number of goroutines may use it.
type Client struct {
	options Options
	http    *http.Client

	mu      sync.Mutex
	first   int                     // index in Servers of the first one to try: the last one that answered
	cookies map[string]*http.Cookie // from logins, by server
	keys    map[string]knownKey     // by the encrypted key's version and material
}

type knownKey struct {
	key []byte
	at  time.Time
}

// New returns a client without connecting.
func New(o Options) *Client {
	o.Timeout = cmp.Or(o.Timeout, defaultTimeout)
	t := &http.Transport{DialTLSContext: tlsconf.WebDialer(o.TLS), MaxIdleConnsPerHost: 8, IdleConnTimeout: time.Minute}
	return &Client{options: o, http: &http.Client{Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
		cookies: map[string]*http.Cookie{}, keys: map[string]knownKey{}}
}

// Close closes the idle connections and forgets all keys.
func (c *Client) Close() {
	c.http.CloseIdleConnections()
	c.mu.Lock()
	clear(c.keys)
	c.mu.Unlock()
}

// DataKey decrypts the data key of a file. The caller must not change the key. Keys are cached for some minutes. A [Final]
// error is permanent; after any other error no server has answered.
//
// A KMS does not authenticate data: it decrypts a modified encrypted key to a different key. Only the length is checked.
func (c *Client) DataKey(ctx context.Context, k EncryptedKey) ([]byte, error) {
	id := k.Version + "\x00" + string(k.Material) + string(k.IV)
	c.mu.Lock()
	known, ok := c.keys[id]
	c.mu.Unlock()
	if ok && time.Since(known.at) < keyLife {
		return known.key, nil
	}
	encode := base64.RawURLEncoding.EncodeToString
	body, err := json.Marshal(map[string]string{"name": k.Name, "iv": encode(k.IV), "material": encode(k.Material)})
	if err != nil {
		return nil, err
	}
	answer, err := c.ask(ctx, "/v1/keyversion/"+url.PathEscape(k.Version)+"/_eek?eek_op=decrypt", body)
	if err != nil {
		return nil, fmt.Errorf("decrypt a data key by %s: %w", k.Version, err)
	}
	var a struct{ Material string }
	err = json.Unmarshal(answer, &a)
	key, e := base64.RawURLEncoding.DecodeString(a.Material)
	if err != nil || e != nil || len(key) != len(k.Material) || len(key) != 16 && len(key) != 32 {
		return nil, fmt.Errorf("decrypt a data key by %s: the answer of the KMS is malformed", k.Version)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.keys) >= maxKeys {
		clear(c.keys)
	}
	c.keys[id] = knownKey{key, time.Now()}
	return key, nil
}

// ask sends a request to one server after another until one answers.
func (c *Client) ask(ctx context.Context, path string, body []byte) ([]byte, error) {
	c.mu.Lock()
	first := c.first
	c.mu.Unlock()
	var errs []error
	certificates := 0 // that are refused
	for i := range c.options.Servers {
		n := (first + i) % len(c.options.Servers)
		answer, err := c.askServer(ctx, c.options.Servers[n], path, body)
		if err == nil || Final(err) {
			c.mu.Lock()
			c.first = n
			c.mu.Unlock()
			return answer, err
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if _, refused := errors.AsType[*tlsconf.Error](err); refused {
			certificates++
		}
		errs = append(errs, err)
	}
	if certificates == len(errs) {
		errs = append([]error{ErrServer}, errs...)
	}
	return nil, errors.Join(errs...)
}

// askServer sends a request to a server: with the cookie of the last login, or with a new login if there is none or the
// server refuses it.
func (c *Client) askServer(ctx context.Context, server, path string, body []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.options.Timeout, fmt.Errorf("no answer within %s", c.options.Timeout))
	defer cancel()
	c.mu.Lock()
	cookie := c.cookies[server]
	c.mu.Unlock()
	if cookie != nil {
		answer, status, err := c.send(ctx, server, path, body, func(_ *url.URL, r *http.Request) error {
			r.AddCookie(cookie)
			return nil
		})
		if status != http.StatusUnauthorized {
			return answer, err
		}
	}
	answer, _, err := c.send(ctx, server, path, body, c.logIn)
	return answer, err
}

// send sends one request, after prove has added the caller's credentials.
func (c *Client) send(ctx context.Context, server, path string, body []byte, prove func(*url.URL, *http.Request) error) (answer []byte, status int, err error) {
	u, err := url.Parse(server + path)
	if err != nil {
		return nil, 0, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, u.String(), bytes.NewReader(body))
	if err != nil {
		return nil, 0, err
	}
	r.Header.Set("Content-Type", "application/json")
	if err := prove(u, r); err != nil {
		return nil, 0, err
	}
	response, err := c.http.Do(r)
	if err != nil {
		if e, ok := errors.AsType[*url.Error](err); ok {
			err = e.Err // without the query
		}
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, 0, fmt.Errorf("KMS %s: %w", server, err)
	}
	defer response.Body.Close()
	answer, err = io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return nil, response.StatusCode, fmt.Errorf("KMS %s: %w", server, err)
	}
	for _, cookie := range response.Cookies() {
		if cookie.Name == "hadoop.auth" && cookie.Value != "" {
			c.mu.Lock()
			c.cookies[server] = cookie
			c.mu.Unlock()
		}
	}
	if response.StatusCode != http.StatusOK {
		return nil, response.StatusCode, refusal(server, response.StatusCode, answer)
	}
	return answer, http.StatusOK, nil
}

// logIn adds the caller's credentials to a request: the token, otherwise Kerberos,
// otherwise the name.
func (c *Client) logIn(u *url.URL, r *http.Request) error {
	switch {
	case c.options.Token != nil:
		r.Header.Set("X-Hadoop-Delegation-Token", base64.RawURLEncoding.EncodeToString(hadooprpc.AppendWritable(nil, c.options.Token)))
	case c.options.Kerberos != nil:
		_, token, err := c.options.Kerberos.Initiate(r.Context(), "HTTP/"+strings.ToLower(u.Hostname()), "") // KerberosUtil.getServicePrincipal
		if errors.Is(err, kerberos.ErrUnknownService) {
			err = errors.Join(ErrLogin, err)
		}
		if err != nil {
			return fmt.Errorf("KMS %s://%s: %w", u.Scheme, u.Host, err)
		}
		r.Header.Set("Authorization", "Negotiate "+base64.StdEncoding.EncodeToString(kerberos.NegTokenInit(token)))
	default:
		query := r.URL.Query()
		query.Set("user.name", c.options.User)
		r.URL.RawQuery = query.Encode()
	}
	return nil
}

// Errors that callers handle. Other errors are from servers that do not answer, or not like a KMS: a later request may succeed.
var (
	// ErrDenied means that the user may not use the key.
	ErrDenied = errors.New("the KMS denies the key")
	// ErrNoKey means that the KMS does not have the key or its version.
	ErrNoKey = errors.New("the KMS does not have the key")
	// ErrLogin means that the KMS does not accept the caller: no ticket, or an expired token.
	ErrLogin = errors.New("the KMS does not accept the login")
	// ErrServer means that the certificates of all servers are refused.
	ErrServer = errors.New("the KMS is not verified")
)

// Error is a KMS's refusal.
type Error struct {
	Server string // its URL
	Status int    // of HTTP
	Text   string // its message, one line
	Err    error  // ErrDenied, ErrNoKey, ErrLogin, or nil
}

func (e *Error) Error() string {
	text := fmt.Sprintf("KMS %s answers %d: %s", e.Server, e.Status, e.Text)
	if e.Err == nil {
		return text
	}
	return e.Err.Error() + ": " + text
}

func (e *Error) Unwrap() error { return e.Err }

// Final reports whether an error is permanent for the same request.
func Final(err error) bool {
	return errors.Is(err, ErrDenied) || errors.Is(err, ErrNoKey) || errors.Is(err, ErrLogin) || errors.Is(err, ErrServer)
}

// refusal parses the response to a failed request (HttpExceptionUtils, Hadoop 3.4). The status 403 does not show whether the
// key or the login is refused; the exception does.
func refusal(server string, status int, body []byte) error {
	var a struct {
		RemoteException struct{ Message, Exception string }
	}
	_ = json.Unmarshal(body, &a) // a response in another format has no exception
	r := a.RemoteException
	line, _, _ := strings.Cut(strings.TrimSpace(r.Message), "\n")
	e := &Error{Server: server, Status: status, Text: strings.TrimSpace(r.Exception + " " + line)}
	switch {
	case status == 401, r.Exception == "AuthenticationException":
		e.Err = ErrLogin
	case r.Exception == "AuthorizationException", r.Exception == "AccessControlException", status == 403:
		e.Err = ErrDenied
	case status == 404, status == 400 && (r.Exception == "IllegalArgumentException" || strings.Contains(line, "not found")):
		e.Err = ErrNoKey
	}
	e.Text = cmp.Or(e.Text, "no reason")
	return e
}
