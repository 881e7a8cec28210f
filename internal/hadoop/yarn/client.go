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
	"strings"
	"sync/atomic"
	"time"

	"bulkload/pkg/kerberos"
)

// Proof gets tickets of services; a [kerberos.Client] is one.
type Proof interface {
	Initiate(ctx context.Context, service, realm string) (*kerberos.Context, []byte, error)
}

// Options say where a cluster is and who the client is.
type Options struct {
	Addresses
	// User is the user's name for servers without authentication. Required without Kerberos.
	User string
	// Kerberos authenticates the client, where a server wants it.
	Kerberos Proof
	// TLS is for addresses of https. Nil: the system's certificates.
	TLS *tls.Config
	// Timeout bounds each request, its connection and answer included. Default 30 s.
	Timeout time.Duration
	// MostAnswer bounds an answer, in bytes. Default 64 MiB: a task takes about 350.
	MostAnswer int64
}

const (
	defaultTimeout    = 30 * time.Second
	defaultMostAnswer = 64 << 20
)

// Client asks one cluster. It is safe for concurrent use.
type Client struct {
	o      Options
	http   *http.Client
	active atomic.Int32 // index of the ResourceManager that answered last
}

// New makes a client; it connects to nothing.
func New(o Options) (*Client, error) {
	if len(o.ResourceManagers) == 0 {
		return nil, errors.New("yarn: no address of a ResourceManager")
	}
	if o.User == "" && o.Kerberos == nil {
		return nil, errors.New("yarn: neither a user's name nor Kerberos")
	}
	o.Timeout = cmp.Or(o.Timeout, defaultTimeout)
	o.MostAnswer = cmp.Or(o.MostAnswer, defaultMostAnswer)
	jar, err := cookiejar.New(nil) // hadoop.auth, which saves a ticket for each request
	if err != nil {
		return nil, err
	}
	return &Client{o: o, http: &http.Client{
		Jar:     jar,
		Timeout: o.Timeout,
		// A redirect is an answer: of a standby, or of a job that has ended. Following it could leave the cluster.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			TLSClientConfig: o.TLS, MaxIdleConnsPerHost: 2, IdleConnTimeout: time.Minute, MaxResponseHeaderBytes: 1 << 20,
		},
	}}, nil
}

// Close closes idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// request is one question, to whatever server.
type request struct {
	method string // default GET
	path   string
	query  url.Values
	body   []byte
	accept string // default application/json
	most   int64  // bytes of the answer; default Options.MostAnswer
}

type answer struct {
	url    string
	status int
	body   []byte
}

func (a answer) success() bool { return a.status/100 == 2 }

// manager asks the active ResourceManager. The one that answered last is asked first; one that is a standby, which sends
// elsewhere, or does not answer, makes room for the next.
func (c *Client) manager(ctx context.Context, r request) (answer, error) {
	var all []error
	first := int(c.active.Load())
	for i := range c.o.ResourceManagers {
		n := (first + i) % len(c.o.ResourceManagers)
		a, err := c.ask(ctx, c.o.ResourceManagers[n], r)
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

// ask asks one server, and once more with a proof if it wants one.
func (c *Client) ask(ctx context.Context, base string, r request) (answer, error) {
	query := url.Values{}
	for k, v := range r.query {
		query[k] = v
	}
	if c.o.Kerberos == nil {
		query.Set("user.name", c.o.User)
	}
	address := base + r.path
	a, wanted, err := c.send(ctx, address, query, r, "")
	if err != nil || !wanted {
		return a, err
	}
	if c.o.Kerberos == nil {
		return a, &Error{URL: address, Status: a.status, Why: "it wants Kerberos, which is not configured", Err: ErrDenied}
	}
	u, err := url.Parse(base)
	if err != nil {
		return a, err
	}
	_, token, err := c.o.Kerberos.Initiate(ctx, "HTTP/"+u.Hostname(), "")
	if err != nil {
		return a, &Error{URL: address, Err: errors.Join(ErrDenied, err)}
	}
	a, wanted, err = c.send(ctx, address, query, r, base64.StdEncoding.EncodeToString(kerberos.NegTokenInit(token)))
	if err == nil && wanted {
		return a, &Error{URL: address, Status: a.status, Why: "it does not accept the ticket for HTTP/" + u.Hostname(), Err: ErrDenied}
	}
	return a, err
}

// send reports whether the server wants a proof.
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
		request.Header.Set("X-XSRF-HEADER", "bulkload") // what a ResourceManager with rest-csrf.enabled looks for
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
		return answer{}, false, &Error{URL: address, Err: errors.Join(ErrUnreachable, err)}
	}
	defer response.Body.Close()
	most := cmp.Or(r.most, c.o.MostAnswer)
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
	for _, v := range h.Values("WWW-Authenticate") {
		if scheme, _, _ := strings.Cut(v, " "); strings.EqualFold(scheme, "Negotiate") {
			return true
		}
	}
	return false
}

// decode reads a successful answer's JSON.
func (a answer) decode(out any) error {
	if !a.success() {
		return refusal(a.url, a.status, a.body)
	}
	if err := json.Unmarshal(a.body, out); err != nil {
		// The decoder's own words can have a part of the answer.
		return &Error{URL: a.url, Status: a.status, Why: "the answer is no JSON of the kind asked for", Err: ErrUnreachable}
	}
	return nil
}
