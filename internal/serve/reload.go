package serve

import (
	"context"
	"crypto/tls"
	"fmt"
	"os"
	"strings"

	"bulkload/internal/base/retry"
	"bulkload/pkg/kerberos"
)

type loaded struct {
	jobs   *resources
	access *access            // nil: no authentication
	keys   *kerberos.Acceptor // nil: Kerberos tickets are not accepted
	tls    *tls.Config        // nil: connections are not encrypted
	files  string             // fingerprint of all files that were read
}

// Reload reads job files, clients, the keytab and certificates again. If all of them are valid, they replace the
// previous ones. Otherwise none does, and the error lists what is wrong. Running requests end with the data that they
// began with.
func (s *Server) Reload() error {
	s.loading.Lock()
	defer s.loading.Unlock()
	l, err := s.load()
	if err != nil {
		s.metrics.reloads.WithLabelValues("failed").Inc()
		return err
	}
	s.metrics.reloads.WithLabelValues("done").Inc()
	s.loaded.Store(l)
	if s.options.Console != nil {
		return nil
	}
	var names []string
	for _, r := range l.jobs.list {
		names = append(names, r.name)
	}
	s.log.Info("job files loaded", "directory", s.options.Jobs, "jobs", strings.Join(names, " "))
	s.probeSoon()
	return nil
}

func (s *Server) load() (*loaded, error) {
	before := &resources{}
	if l := s.loaded.Load(); l != nil {
		before = l.jobs
	}
	l := &loaded{files: s.fingerprint()}
	var err error
	if s.options.Console != nil {
		l.jobs = &resources{}
	} else if l.jobs, err = loadResources(s.options.Jobs, s.held, before); err != nil {
		return nil, err
	}
	if l.jobs.openAPI, err = describe(l.jobs, s.limits, s.options.Version, s.ways()); err != nil {
		return nil, err
	}
	if s.options.Clients != "" {
		if l.access, err = loadAccess(s.options.Clients, l.jobs, s.options.Keytab != "", s.options.Console != nil); err != nil {
			return nil, err
		}
	}
	if s.options.Keytab != "" {
		if l.keys, err = s.loadKeytab(); err != nil {
			return nil, err
		}
	}
	if s.options.TLS != nil {
		if l.tls, err = s.options.TLS.load(); err != nil {
			return nil, err
		}
	}
	return l, nil
}

// watch reloads the files after they have changed and then stayed unchanged for one interval.
func (s *Server) watch(ctx context.Context) {
	tried := s.loaded.Load().files
	last := tried
	for retry.Sleep(ctx, s.options.WatchEvery) == nil {
		now := s.fingerprint()
		if now != tried && now == last {
			tried = now
			if err := s.Reload(); err != nil {
				s.log.Error("job files, clients or certificates are invalid; the previous ones stay in use", "error", err)
			}
		}
		last = now
	}
}

// fingerprint returns a text that changes with the names, sizes and times of the files.
func (s *Server) fingerprint() string {
	var names []string
	if s.options.Console == nil {
		var err error
		if names, err = jobFiles(s.options.Jobs); err != nil {
			return err.Error()
		}
	}
	var b strings.Builder
	for _, name := range append(append(names, s.options.Clients, s.options.Keytab), s.options.TLS.files()...) {
		fmt.Fprintf(&b, "%q ", name)
		if info, err := os.Stat(name); err == nil {
			fmt.Fprintf(&b, "%d %d", info.Size(), info.ModTime().UnixNano())
		}
		b.WriteByte('\n')
	}
	return b.String()
}
