package kerberos

import (
	"cmp"
	"errors"
	"sync"
	"time"
)

// Errors of replayed tokens.
var (
	// ErrSeen is the error of a token that was accepted before: each is for one request.
	ErrSeen = errors.New("it came before")
	// ErrManySeen is the error of a service that has accepted more tokens than it can remember.
	ErrManySeen = errors.New("more tokens were taken than are remembered")
)

// maxSeen is the number of tokens that are remembered: some 30 MB, 1,700 tokens a second.
const maxSeen = 1 << 19

// Seen remembers tokens for as long as they are valid, so that none is accepted twice. The zero value is ready. It is safe for concurrent
// use.
type Seen struct {
	mu    sync.Mutex
	byMin map[int64]map[[16]byte]struct{} // by the minute of their callers' clocks
	n     int
	most  int // 0: maxSeen
}

// first remembers a token. It returns an error if the token is known already. A token is forgotten only when it is too old to be valid.
func (s *Seen) first(token [16]byte, at, now time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byMin == nil {
		s.byMin = map[int64]map[[16]byte]struct{}{}
	}
	oldest := now.Add(-Skew-time.Minute).Unix() / 60
	for minute, tokens := range s.byMin {
		if minute < oldest {
			s.n -= len(tokens)
			delete(s.byMin, minute)
		}
	}
	minute := at.Unix() / 60
	tokens := s.byMin[minute]
	if _, ok := tokens[token]; ok {
		return ErrSeen
	}
	if s.n >= cmp.Or(s.most, maxSeen) {
		return ErrManySeen
	}
	if tokens == nil {
		tokens = map[[16]byte]struct{}{}
		s.byMin[minute] = tokens
	}
	tokens[token] = struct{}{}
	s.n++
	return nil
}
