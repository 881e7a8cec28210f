package loader

import (
	"context"
	"errors"
	"sync"
	"testing"

	"bulkload/internal/test/testcheck"
)

// tollGate admits one call for each value of pass.
type tollGate struct {
	pass    chan struct{}
	mu      sync.Mutex
	waiting int
	most    int // at a time
}

func (g *tollGate) Wait(ctx context.Context) error {
	g.count(1)
	defer g.count(-1)
	select {
	case <-g.pass:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (g *tollGate) count(n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting += n
	g.most = max(g.most, g.waiting)
}

// TestLoadGate loads four regions through a gate that admits two calls. It checks that at most two calls wait at a
// time, and that after a stop the other files are unchanged and can be loaded later.
func TestLoadGate(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	table := b.table(t, "b", "c", "d")
	var files []HFile
	var rows []string
	for _, prefix := range []string{"a", "b", "c", "d"} {
		some := rowsOf(prefix, 50)
		files = append(files, b.hfile(t, b.fs, b.dir, "f", some))
		rows = append(rows, some...)
	}
	gate := &tollGate{pass: make(chan struct{}, 2)}
	gate.pass <- struct{}{}
	gate.pass <- struct{}{}
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("stopped")
	loaded := 0
	report, err := b.Load(ctx, LoadRequest{Table: table, Files: files, FS: b.fs, PerServer: 4, Calls: 2, Gate: gate, Events: Events{
		OnLoaded: func(Region, []HFile) error {
			if loaded++; loaded == 2 {
				cancel(stop)
			}
			return nil
		},
	}})
	if !errors.Is(err, stop) {
		t.Fatalf("error is %v", err)
	}
	if gate.most > 2 {
		t.Errorf("%d calls were to be made at a time, 2 are allowed", gate.most)
	}
	var rest []HFile
	for _, r := range report.Regions {
		if r.Place == PlaceSource {
			rest = append(rest, r.Files...)
		}
	}
	if report.Loaded != 2 || len(rest) != 2 {
		t.Fatalf("%d files are loaded and %d at their sources: %+v", report.Loaded, len(rest), report.Regions)
	}
	close(gate.pass)
	_, err = b.Load(t.Context(), LoadRequest{Table: table, Files: rest, FS: b.fs, Calls: 1, Gate: gate})
	testcheck.Must(t, err)
	b.checkRows(t, table, rows, "f")
}
