package serve

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Reload reads the job files again. All of them are right and replace those
// before, or none does and the error says what is wrong. Requests under way
// end with the job files that they began with.
func (s *Server) Reload() error {
	s.loading.Lock()
	defer s.loading.Unlock()
	before := s.jobs.Load()
	rs, err := loadResources(s.o.Jobs, s.held, before)
	if err != nil {
		return err
	}
	if rs.openAPI, err = describe(rs, s.limits, s.o.Version); err != nil {
		return err
	}
	s.jobs.Store(rs)
	var names []string
	for _, r := range rs.list {
		names = append(names, r.name)
	}
	s.log.Info("job files loaded", "directory", s.o.Jobs, "jobs", strings.Join(names, " "))
	s.probeSoon()
	return nil
}

// watch reloads when the job files have changed and then were left alone for
// one look.
func (s *Server) watch(ctx context.Context) {
	tick := time.NewTicker(s.o.WatchEvery)
	defer tick.Stop()
	loaded := fingerprint(s.o.Jobs)
	last := loaded
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now := fingerprint(s.o.Jobs)
		if now != loaded && now == last {
			loaded = now
			if err := s.Reload(); err != nil {
				s.log.Error("job files are wrong, those before stay in use", "error", err)
			}
		}
		last = now
	}
}

// fingerprint changes with the job files: their names, sizes and times.
func fingerprint(dir string) string {
	names, err := jobFiles(dir)
	if err != nil {
		return err.Error()
	}
	var b strings.Builder
	for _, name := range names {
		fmt.Fprintf(&b, "%q ", name)
		if info, err := os.Stat(filepath.Join(dir, name)); err == nil {
			fmt.Fprintf(&b, "%d %d", info.Size(), info.ModTime().UnixNano())
		}
		b.WriteByte('\n')
	}
	return b.String()
}
