package loader

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"
)

// TestLookBeforeIsBounded has one bound for all reads before a load: where the table is out of reach, reads that
// have not begun when it ends are not made, and no file is taken for alone.
func TestLookBeforeIsBounded(t *testing.T) {
	cfg := Config{Quorum: "127.0.0.1:1", EffectiveUser: "x", LookupTimeout: 100 * time.Millisecond, RetryTimeout: 200 * time.Millisecond}.withDefaults()
	var log bytes.Buffer
	c := newCluster(cfg, slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})))
	defer c.Close()
	l := &load{c: c, req: LoadRequest{Table: TableName{Qualifier: "t"}, Timestamp: 1, Shared: true}}
	var g group
	for i := range 40 * getsInFlight {
		row := fmt.Appendf(nil, "%04d", i)
		g.files = append(g.files, HFile{Path: "/f", Family: "f", First: row, Last: row, Vacant: true})
	}
	l.lookBefore(t.Context(), []group{g})
	// Each read alone would retry for RetryTimeout, forty times one after the other.
	if bounded := strings.Count(log.String(), "not seen within 200ms"); bounded < len(g.files)-2*getsInFlight {
		t.Errorf("%d of %d reads ended with the bound of all", bounded, len(g.files))
	}
	for _, f := range g.files {
		if f.Vacant {
			t.Fatal("what could not be seen is taken for vacant")
		}
	}
}
