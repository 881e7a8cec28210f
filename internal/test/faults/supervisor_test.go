package faults

import (
	"context"
	"sync"
	"time"

	"bulkload/internal/test/testcluster"
)

// supervisor restarts daemons that end while the program runs, as systemd does on real machines. A fault can end more
// than its target daemon: a master aborts when it cannot write to a hbase:meta whose server was just declared dead
// (RegionStateStore of HBase 2.6.4), and no region is assigned until there is a master.
type supervisor struct {
	mu   sync.Mutex
	away map[testcluster.Role]time.Time // time until which it is intentionally down
}

const (
	superviseEvery = 200 * time.Millisecond
	// restartAfter is the time for which a daemon that ended by itself stays down.
	restartAfter = 2 * time.Second
)

// begin watches until the returned function is called.
func (s *supervisor) begin(ctx context.Context, l *Lab) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var g sync.WaitGroup
	g.Go(func() {
		for pause(ctx, superviseEvery) == nil {
			for _, role := range l.cluster.Roles() {
				if s.due(role, l.cluster.Daemon(role).Pid() != 0) {
					l.Log.Debug("restart", "role", role)
					if err := l.cluster.Daemon(role).Restart(ctx); err != nil {
						l.Log.Warn("a daemon does not start", "role", role, "error", err)
					}
				}
			}
		}
	})
	return func() { cancel(); g.Wait() }
}

// due reports whether a daemon is to be started now.
func (s *supervisor) due(role testcluster.Role, runs bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	until, down := s.away[role]
	switch {
	case runs && down && time.Now().After(until):
		delete(s.away, role)
	case !runs && !down:
		if s.away == nil {
			s.away = map[testcluster.Role]time.Time{}
		}
		s.away[role] = time.Now().Add(restartAfter)
	case !runs && time.Now().After(until):
		delete(s.away, role)
		return true
	}
	return false
}

// kill ends a daemon, which stays down for a while.
func (s *supervisor) kill(ctx context.Context, d *testcluster.Daemon, away time.Duration) error {
	s.mu.Lock()
	if s.away == nil {
		s.away = map[testcluster.Role]time.Time{}
	}
	s.away[d.Role()] = time.Now().Add(away)
	s.mu.Unlock()
	return d.Kill(ctx)
}
