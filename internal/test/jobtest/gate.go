package jobtest

import (
	"context"
	"sync"
	"testing"

	"bulkload/internal/model/progress"
	"bulkload/internal/test/testcheck"
)

// phaseGate records the phases in which a job calls its gate.
type phaseGate struct {
	mu    sync.Mutex
	phase string
	asked map[string]int
}

// Wait lets all callers continue.
func (g *phaseGate) Wait(context.Context) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.asked[g.phase]++
	return nil
}

func (g *phaseGate) begin(phase string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.phase = phase
}

// AsksGate checks that a job calls its gate in each of these phases.
func AsksGate(t *testing.T, do func(progress.Gate, progress.Events) error, phases ...string) {
	t.Helper()
	g := &phaseGate{asked: map[string]int{}}
	testcheck.Must(t, do(g, progress.Events{OnPhase: g.begin}))
	for _, phase := range phases {
		if g.asked[phase] == 0 {
			t.Errorf("in phase %s nothing asks: %v", phase, g.asked)
		}
	}
}
