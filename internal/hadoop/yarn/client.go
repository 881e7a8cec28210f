package yarn

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
	"net/http/cookiejar"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"bulkload/internal/hadoop/hadooprpc"
	"bulkload/internal/hadoop/tlsconf"
	"bulkload/pkg/kerberos"
)

// Proof obtains tickets of services. A [kerberos.Client] implements it.
type Proof interface {
	Initiate(ctx context.Context, service, realm string) (*kerberos.Context, []byte, error)
}

// Options are the settings of a [Client].
type Options struct {
	Addresses
	// User is the user name for servers without authentication. Required without Kerberos.
	User string
	// Kerberos authenticates the client if a server requires it.
	Kerberos Proof
	// Login is the login at the ResourceManagers' RPC. Nil: simple authentication, as User.
	Login *hadooprpc.Options
	// TLS is used for https addresses. Nil: the system's certificates.
	TLS *tls.Config
	// Timeout limits each request, including connection and response. Default 30 s.
	Timeout time.Duration
	// MostAnswer limits the size of a response, in bytes. Default 64 MiB: a task takes about 350 bytes.
	MostAnswer int64
}

// Secure sets the Kerberos login at web servers and RPC, as Hadoop's configuration describes them. value is that of [FromConf].
func (o *Options) Secure(login *kerberos.Client, value func(key string) string) error {
	const principal, protection = "yarn.resourcemanager.principal", "hadoop.rpc.protection"
	q, err := kerberos.ParseQualities(value(protection))
	if err != nil {
		return fmt.Errorf("%s: %w", protection, err)
	}
	o.Kerberos = login
	o.Login = &hadooprpc.Options{Kerberos: login, Principal: value(principal), PrincipalKey: principal, Pattern: value(principal + ".pattern"), Qualities: q, QualityKey: protection, Protocol: ClientProtocol}
	return nil
}

const (
	defaultTimeout    = 30 * time.Second
	defaultMostAnswer = 64 << 20
)

// Client sends requests to one cluster. It is safe for concurrent use.
type Client struct {
	options Options
	http    *http.Client
	active  atomic.Int32 // index of the ResourceManager that answered last
}

// New returns a client without connecting.
func New(o Options) (*Client, error) {
	if len(o.ResourceManagers) == 0 {
		return nil, errors.New("yarn: no address of a ResourceManager")
	}
	if o.User == "" && o.Kerberos == nil {
		return nil, errors.New("yarn: neither a user's name nor Kerberos")
	}
	o.Timeout = cmp.Or(o.Timeout, defaultTimeout)
	o.MostAnswer = cmp.Or(o.MostAnswer, defaultMostAnswer)
	jar, err := cookiejar.New(nil) // keeps the hadoop.auth cookie, which saves a ticket for each request
	if err != nil {
		return nil, err
	}
	return &Client{options: o, http: &http.Client{
		Jar:     jar,
		Timeout: o.Timeout,
		// A redirect is a valid response: from a standby, or for a job that has ended. Following it could leave the
		// cluster.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			DialTLSContext: tlsconf.WebDialer(o.TLS), MaxIdleConnsPerHost: 2, IdleConnTimeout: time.Minute, MaxResponseHeaderBytes: 1 << 20,
		},
	}}, nil
}

// Close closes idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// request is a request to any of the servers.
type request struct {
	method string // default GET
	path   string
	query  url.Values
	body   []byte
	accept string // default application/json
	most   int64  // maximum size of the response in bytes; default Options.MostAnswer
}

type answer struct {
	url    string
	status int
	body   []byte
}

func (a answer) success() bool { return a.status/100 == 2 }

// manager sends a request to the active ResourceManager. It starts with the one that answered last, and tries the next
// one after a standby, which redirects, or one that does not answer.
func (c *Client) manager(ctx context.Context, r request) (answer, error) {
	var all []error
	first := int(c.active.Load())
	for i := range c.options.ResourceManagers {
		n := (first + i) % len(c.options.ResourceManagers)
		a, err := c.ask(ctx, c.options.ResourceManagers[n], r)
		switch {
		case err != nil:
		case a.status/100 == 3 && !strings.HasPrefix(r.path, "/proxy/"), strings.HasPrefix(string(a.body), "This is standby RM"):
			err = &Error{URL: a.url, Status: a.status, Why: "a standby", Err: ErrUnreachable}
		case a.status >= 500:
			err = refusal(a.url, a.status, a.body)
		default:
			c.active.Store(int32(n))
			return a, nil
		}
		if ctx.Err() != nil {
			return answer{}, err
		}
		all = append(all, err)
	}
	return answer{}, errors.Join(all...)
}

// ask sends a request to one server, and repeats it with a Kerberos token if the server requires one.
func (c *Client) ask(ctx context.Context, base string, r request) (answer, error) {
	query := url.Values{}
	for k, v := range r.query {
		query[k] = v
	}
	if c.options.Kerberos == nil {
		query.Set("user.name", c.options.User)
	}
	address := base + r.path
	a, wanted, err := c.send(ctx, address, query, r, "")
	if err != nil || !wanted {
		return a, err
	}
	if c.options.Kerberos == nil {
		return a, &Error{URL: address, Status: a.status, Why: "it requires Kerberos, which is not configured", Err: ErrDenied}
	}
	u, err := url.Parse(base)
	if err != nil {
		return a, err
	}
	service := "HTTP/" + strings.ToLower(u.Hostname()) // KerberosUtil.getServicePrincipal
	_, token, err := c.options.Kerberos.Initiate(ctx, service, "")
	if err != nil {
		return a, &Error{URL: address, Err: errors.Join(ErrDenied, err)}
	}
	a, wanted, err = c.send(ctx, address, query, r, base64.StdEncoding.EncodeToString(kerberos.NegTokenInit(token)))
	if err == nil && wanted {
		return a, &Error{URL: address, Status: a.status, Why: "it does not accept the ticket for " + service, Err: ErrDenied}
	}
	return a, err
}

// send sends a request and reports whether the server requires a Kerberos token.
func (c *Client) send(ctx context.Context, address string, query url.Values, r request, proof string) (a answer, wanted bool, err error) {
	full := address
	if len(query) > 0 {
		full += "?" + query.Encode()
	}
	request, err := http.NewRequestWithContext(ctx, cmp.Or(r.method, http.MethodGet), full, bytes.NewReader(r.body))
	if err != nil {
		return answer{}, false, err
	}
	request.Header.Set("Accept", cmp.Or(r.accept, "application/json"))
	if len(r.body) > 0 {
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("X-XSRF-HEADER", "bulkload") // required by a ResourceManager with rest-csrf.enabled
	}
	if proof != "" {
		request.Header.Set("Authorization", "Negotiate "+proof)
	}
	response, err := c.http.Do(request)
	if err != nil {
		var u *url.Error
		if errors.As(err, &u) {
			err = u.Err // without the query
		}
		if ctx.Err() != nil {
			return answer{}, false, &Error{URL: address, Err: context.Cause(ctx)}
		}
		means := ErrUnreachable
		if _, refused := errors.AsType[*tlsconf.Error](err); refused {
			means = ErrDenied
		}
		return answer{}, false, &Error{URL: address, Err: errors.Join(means, err)}
	}
	defer response.Body.Close()
	most := cmp.Or(r.most, c.options.MostAnswer)
	body, err := io.ReadAll(io.LimitReader(response.Body, most+1))
	if err != nil {
		return answer{}, false, &Error{URL: address, Status: response.StatusCode, Err: errors.Join(ErrUnreachable, err)}
	}
	if int64(len(body)) > most {
		return answer{}, false, &Error{URL: address, Status: response.StatusCode, Err: fmt.Errorf("the answer has more than %d bytes", most)}
	}
	a = answer{address, response.StatusCode, body}
	return a, a.status == http.StatusUnauthorized && wantsNegotiate(response.Header), nil
}

func wantsNegotiate(h http.Header) bool {
	return slices.ContainsFunc(h.Values("WWW-Authenticate"), func(v string) bool {
		scheme, _, _ := strings.Cut(v, " ")
		return strings.EqualFold(scheme, "Negotiate")
	})
}

// get reads the answer of the active ResourceManager to a request into out.
func (c *Client) get(ctx context.Context, path string, query url.Values, out any) (answer, error) {
	a, err := c.manager(ctx, request{path: path, query: query})
	if err == nil {
		err = a.decode(out)
	}
	return a, err
}

// none returns the error of an answer without a member: it is from another server, unless the value is null.
func (a answer) none(member, what string) error {
	var is map[string]json.RawMessage
	if err := json.Unmarshal(a.body, &is); err != nil || is[member] == nil {
		return &Error{URL: a.url, Status: a.status, Why: "the answer has no " + what, Err: ErrUnreachable}
	}
	return nil
}

// decode parses the JSON of a successful response.
func (a answer) decode(out any) error {
	if !a.success() {
		return refusal(a.url, a.status, a.body)
	}
	if err := json.Unmarshal(a.body, out); err != nil {
		// The decoder's error could quote the response.
		return &Error{URL: a.url, Status: a.status, Why: "the answer is not the JSON that was asked for", Err: ErrUnreachable}
	}
	return nil
}
