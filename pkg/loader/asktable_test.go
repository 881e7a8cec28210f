package loader

import (
	"fmt"
	"log/slog"
	"testing"
	"time"
)

// TestLookBeforeIsBounded: that a table is out of reach keeps its files waiting for RetryTimeout, not each of them for as long.
func TestLookBeforeIsBounded(t *testing.T) {
	cfg := Config{Quorum: "127.0.0.1:1", EffectiveUser: "x", LookupTimeout: 100 * time.Millisecond, RetryTimeout: 200 * time.Millisecond}.withDefaults()
	c := &Cluster{cfg: cfg, log: slog.New(slog.DiscardHandler), servers: map[serverKey]*server{}, regions: map[TableName][]Region{}}
	defer c.Close()
	l := &load{c: c, req: LoadRequest{Table: TableName{Qualifier: "t"}, Timestamp: 1, Shared: true}}
	var g group
	for i := range 40 * getsInFlight {
		row := fmt.Appendf(nil, "%04d", i)
		g.files = append(g.files, HFile{Path: "/f", Family: "f", First: row, Last: row, Vacant: true})
	}
	began := time.Now()
	l.lookBefore(t.Context(), []group{g})
	if took := time.Since(began); took > 10*cfg.RetryTimeout {
		t.Errorf("looked for %s", took)
	}
	for _, f := range g.files {
		if f.Vacant {
			t.Fatal("what could not be seen is taken for vacant")
		}
	}
}
