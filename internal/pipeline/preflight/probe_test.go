package preflight

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"testing"

	"bulkload/internal/hbase/staging"
	"bulkload/pkg/hdfsio"
)

// emptied is a file system whose empty staging directory is removed before a probe creates its own directory in it.
type emptied struct{ *hdfsio.Memory }

func (e emptied) MkdirAll(ctx context.Context, name string, perm fs.FileMode) error {
	if dir, _, ok := strings.Cut(name, "/"+staging.ProbePrefix); ok {
		if err := e.Remove(ctx, dir); err != nil {
			return err
		}
	}
	return e.Memory.MkdirAll(ctx, name, perm)
}

// TestProbesOfTwoJobs checks that a probe removes the staging directory that it has created, that a concurrent one creates it again, and
// that HBase can traverse the new one.
func TestProbesOfTwoJobs(t *testing.T) {
	m := hdfsio.NewMemory()
	const dir = "/tmp/bulkload-tina"
	if err := m.MkdirAll(t.Context(), dir, 0o711); err != nil {
		t.Fatal(err)
	}
	s := stagingFacts{location: hdfsio.Location{Path: dir}}
	s.probe(t.Context(), emptied{m}, "tina", "")
	if s.probeErr != nil || s.isNew {
		t.Fatal(s.step, s.probeErr, s.isNew)
	}
	info, err := m.Stat(t.Context(), dir)
	if err != nil || info.Mode().Perm() != 0o711 {
		t.Errorf("%s has mode %v, %v: HBase cannot pass it", dir, info.Mode(), err)
	}
}

// TestProbeOfKilledJob checks that a job's probe removes the files that the killed probe of an earlier attempt has left.
func TestProbeOfKilledJob(t *testing.T) {
	m := hdfsio.NewMemory()
	l := hdfsio.Location{Path: "/tmp/bulkload-tina"}
	probe := staging.ProbeOf(l.Join("ns_check-1700000000000-0123456789abcdef").Path)
	if !staging.IsProbe(probe) {
		t.Errorf("%q is not the name of a probe", probe)
	}
	left := l.Join(probe).Path
	if err := m.MkdirAll(t.Context(), left, 0o711); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Create(t.Context(), left+"/file", hdfsio.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	s := stagingFacts{location: l}
	if s.probe(t.Context(), m, "tina", probe); s.probeErr != nil {
		t.Fatal(s.step, s.probeErr)
	}
	if _, err := m.Stat(t.Context(), left); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s is left: %v", left, err)
	}
}

// TestProbeMakesBase checks that a probe that creates the staging directory reports that. If a job uses the directory by then, that job
// removes it when it is refused.
func TestProbeMakesBase(t *testing.T) {
	for _, used := range []bool{false, true} {
		m := hdfsio.NewMemory()
		s := stagingFacts{location: hdfsio.Location{Path: "/tmp/bulkload-tina"}}
		job := s.location.Join("t-1-0123456789abcdef").Path
		s.probe(t.Context(), usedBase{m, map[bool]string{true: job}[used]}, "tina", "")
		if s.probeErr != nil || !s.isNew {
			t.Errorf("used %t: %s %v, new %t", used, s.step, s.probeErr, s.isNew)
		}
		if _, err := m.Stat(t.Context(), s.location.Path); errors.Is(err, fs.ErrNotExist) == used {
			t.Errorf("used %t: the staging directory: %v", used, err)
		}
	}
}

// usedBase is a file system in which a job creates its directory while a probe creates its own.
type usedBase struct {
	*hdfsio.Memory
	job string // empty: no job does
}

func (u usedBase) MkdirAll(ctx context.Context, name string, perm fs.FileMode) error {
	if strings.Contains(name, "/"+staging.ProbePrefix) && u.job != "" {
		if err := u.Memory.MkdirAll(ctx, u.job, 0o711); err != nil {
			return err
		}
	}
	return u.Memory.MkdirAll(ctx, name, perm)
}
