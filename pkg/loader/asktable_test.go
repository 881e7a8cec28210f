package loader

import (
	"bytes"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// lockedBuffer is a buffer for a log to which goroutines of the ZooKeeper client may write even after a test.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// TestLookBeforeIsBounded checks that all reads before a load share one time limit. If the table is out of reach, reads
// that have not begun by then are skipped, and no file is regarded as vacant.
func TestLookBeforeIsBounded(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0") // accepts connections, and never answers
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	cfg := Config{Quorum: silent.Addr().String(), EffectiveUser: "x", LookupTimeout: 100 * time.Millisecond, RetryTimeout: 200 * time.Millisecond}.withDefaults()
	var log lockedBuffer
	c := newCluster(cfg, slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})))
	defer c.Close()
	l := &load{cluster: c, req: LoadRequest{Table: TableName{Qualifier: "t"}, Timestamp: 1, Shared: true}}
	var g group
	for i := range 40 * getsInFlight {
		row := fmt.Appendf(nil, "%04d", i)
		g.files = append(g.files, HFile{Path: "/f", Family: "f", First: row, Last: row, Vacant: true})
	}
	l.lookBefore(t.Context(), []group{g})
	// Each read alone would retry for RetryTimeout, forty times in sequence.
	if bounded := strings.Count(log.String(), "not seen within 200ms"); bounded < len(g.files)-2*getsInFlight {
		t.Errorf("%d of %d reads ended with the bound of all", bounded, len(g.files))
	}
	for _, f := range g.files {
		if f.Vacant {
			t.Fatal("what could not be seen is taken for vacant")
		}
	}
}
