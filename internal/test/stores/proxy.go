package stores

import (
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// Harm has the rates of a proxy's faults, each as a share of all requests.
type Harm struct {
	Busy  float64 // 503 SlowDown
	Reset float64 // the connection ends, before or within the response
	Short float64 // the body ends early, with or without a matching header
	Slow  float64 // the body arrives in pieces
}

// Proxy forwards requests to a server, and injects faults.
type Proxy struct {
	harm Harm
	next http.Handler

	mu   sync.Mutex
	rand *rand.Rand

	Requests, Harmed atomic.Int64
	Before           func(*http.Request) // called for each request; nil: nothing
}

// NewProxy returns a proxy in front of a handler.
func NewProxy(next http.Handler, r *rand.Rand, harm Harm) *Proxy {
	return &Proxy{harm: harm, next: next, rand: r}
}

// To returns a handler that forwards requests to another server, which sees the host of the client's request.
func To(address string) http.Handler {
	u, _ := url.Parse(address)
	return &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.Out.URL.Scheme, r.Out.URL.Host = u.Scheme, u.Host
		r.Out.Host = r.In.Host
	}}
}

// draw chooses the fault of a request, and the number of bytes of its body to send.
func (p *Proxy) draw() (kind string, after int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	x := p.rand.Float64()
	after = p.rand.Int64N(1 << (1 + p.rand.IntN(21)))
	for _, h := range []struct {
		kind  string
		share float64
	}{{"busy", p.harm.Busy}, {"reset", p.harm.Reset}, {"short", p.harm.Short}, {"slow", p.harm.Slow}} {
		if x < h.share {
			return h.kind, after
		}
		x -= h.share
	}
	return "", 0
}

func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.Requests.Add(1)
	if p.Before != nil {
		p.Before(r)
	}
	kind, after := p.draw()
	if kind != "" {
		p.Harmed.Add(1)
	}
	switch kind {
	case "busy":
		w.Header().Set("Retry-After", "0")
		refuse(w, http.StatusServiceUnavailable, "SlowDown")
	case "reset":
		if after&1 == 0 {
			reset(w)
		}
		p.next.ServeHTTP(&harmed{ResponseWriter: w, left: after, end: func() { reset(w) }}, r)
	case "short":
		p.next.ServeHTTP(&harmed{ResponseWriter: w, left: after, lie: after&1 == 0 && r.Method != http.MethodHead, end: func() { panic(http.ErrAbortHandler) }}, r)
	case "slow":
		p.next.ServeHTTP(&harmed{ResponseWriter: w, left: 1 << 62, slow: true}, r)
	default:
		p.next.ServeHTTP(w, r)
	}
}

// reset closes a connection so that its client sees a reset rather than an end.
func reset(w http.ResponseWriter) {
	c, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if t, ok := c.(*net.TCPConn); ok {
		_ = t.SetLinger(0)
	}
	c.Close()
	panic(http.ErrAbortHandler)
}

// harmed is a response that ends early, or is slow.
type harmed struct {
	http.ResponseWriter
	left int64
	lie  bool // the header has the length of the shortened body, as if it were complete
	slow bool
	end  func()
}

// Unwrap supports [http.ResponseController].
func (h *harmed) Unwrap() http.ResponseWriter { return h.ResponseWriter }

func (h *harmed) WriteHeader(status int) {
	if h.lie {
		if n, err := strconv.ParseInt(h.Header().Get("Content-Length"), 10, 64); err == nil && n > h.left {
			h.Header().Set("Content-Length", strconv.FormatInt(h.left, 10))
		}
	}
	h.ResponseWriter.WriteHeader(status)
}

func (h *harmed) Write(p []byte) (int, error) {
	if h.slow {
		n := 0
		for n < len(p) {
			m, err := h.ResponseWriter.Write(p[n:min(n+32<<10, len(p))])
			if n += m; err != nil {
				return n, err
			}
			_ = http.NewResponseController(h.ResponseWriter).Flush()
			time.Sleep(100 * time.Microsecond)
		}
		return n, nil
	}
	if int64(len(p)) < h.left {
		h.left -= int64(len(p))
		return h.ResponseWriter.Write(p)
	}
	_, _ = h.ResponseWriter.Write(p[:h.left])
	if h.left = 0; h.lie {
		return 0, io.ErrShortWrite
	}
	_ = http.NewResponseController(h.ResponseWriter).Flush()
	h.end()
	return 0, io.ErrShortWrite
}
