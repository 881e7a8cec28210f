package loader

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// TestLoadsAreManyWhileTheyAreQuick checks the number of concurrent loads that a server's pace admits.
func TestLoadsAreManyWhileTheyAreQuick(t *testing.T) {
	fill := func(p *pace) (n int) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			for {
				leave, err := p.enter(ctx)
				if err != nil {
					return
				}
				defer leave()
				n++
			}
		})
		return n
	}
	p := newPace(0)
	for _, c := range []struct {
		took time.Duration
		want int
	}{{0, quickLoads}, {quick + 1, slowLoads}, {quick, quickLoads}} {
		(&line{pace: p}).answered(c.took, nil)
		if n := fill(p); n != c.want {
			t.Errorf("after one of %s: %d loads at a time, want %d", c.took, n, c.want)
		}
	}
	asked := newPace(3)
	(&line{pace: asked}).answered(time.Hour, nil)
	if n := fill(asked); n != 3 || asked.most != 3 {
		t.Errorf("%d loads at a time where 3 were asked for", n)
	}
}
