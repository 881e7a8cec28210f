package preflight

import (
	"context"
	"io/fs"
	"strings"
	"testing"

	"bulkload/pkg/hdfsio"
	"bulkload/pkg/staging"
)

// emptied is a file system on which somebody removes the staging directory, which is empty, before a probe makes its own in it.
type emptied struct{ *hdfsio.Memory }

func (e emptied) MkdirAll(ctx context.Context, name string, perm fs.FileMode) error {
	if dir, _, ok := strings.Cut(name, "/"+staging.ProbePrefix); ok {
		if err := e.Remove(ctx, dir); err != nil {
			return err
		}
	}
	return e.Memory.MkdirAll(ctx, name, perm)
}

// TestProbesOfTwoJobs: a probe that ends removes the staging directory that it has made. One that is under way makes it again, and HBase
// must be able to pass that.
func TestProbesOfTwoJobs(t *testing.T) {
	m := hdfsio.NewMemory()
	const dir = "/tmp/bulkload-tina"
	if err := m.MkdirAll(t.Context(), dir, 0o711); err != nil {
		t.Fatal(err)
	}
	s := stagingFacts{location: hdfsio.Location{Path: dir}}
	s.probe(t.Context(), emptied{m}, "tina")
	if s.probeErr != nil {
		t.Fatal(s.step, s.probeErr)
	}
	info, err := m.Stat(t.Context(), dir)
	if err != nil || info.Mode().Perm() != 0o711 {
		t.Errorf("%s has mode %v, %v: HBase cannot pass it", dir, info.Mode(), err)
	}
}
