package serve

import (
	"maps"
	"sync"

	"golang.org/x/time/rate"
)

// maxRates is the number of callers whose rates are stored.
const maxRates = 10_000

// rates limits the requests a second of each caller. Nil means no limit.
type rates struct {
	each  rate.Limit
	burst int

	mu sync.Mutex
	by map[string]*rate.Limiter
}

func newRates(each float64) *rates {
	if each <= 0 {
		return nil
	}
	return &rates{each: rate.Limit(each), burst: max(1, int(each)), by: map[string]*rate.Limiter{}}
}

// allow counts a request, and reports whether it is within the limit.
func (r *rates) allow(caller string) bool {
	if r == nil {
		return true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	l := r.by[caller]
	if l == nil {
		if len(r.by) >= maxRates {
			maps.DeleteFunc(r.by, func(_ string, l *rate.Limiter) bool { return l.Tokens() >= float64(r.burst) }) // clients without a request for a while
		}
		if len(r.by) >= maxRates {
			return false
		}
		l = rate.NewLimiter(r.each, r.burst)
		r.by[caller] = l
	}
	return l.Allow()
}
