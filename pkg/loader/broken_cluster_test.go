package loader

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"bulkload/internal/test/testcheck"
)

// TestBreakAfterAnswer breaks connections after an answer was read and before gohbase returns it, and checks that the
// caller gets the answer and that the next call uses a new connection.
func TestBreakAfterAnswer(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a cluster")
	}
	var left atomic.Int32 // remaining breaks
	b := newBench(t, func(c *Config) {
		c.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
			var d net.Dialer
			nc, err := d.DialContext(ctx, network, addr)
			return &brokenAfterAnswer{nc, &left}, err
		}
	})
	table, all := b.loaded(t, 300)
	left.Store(3)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	n := 0
	testcheck.Must(t, b.Scan(ctx, ScanRequest{Table: table, ChunkBytes: 700}, func(row Row) error {
		if string(row.Key) != all[n] {
			t.Fatalf("row %d is %q, want %q", n, row.Key, all[n])
		}
		n++
		return nil
	}))
	if n != len(all) {
		t.Errorf("%d rows, want %d", n, len(all))
	}
	if left.Load() >= 0 {
		t.Error("no connection was broken")
	}
	left.Store(1)
	_, err := b.Status(ctx)
	testcheck.Must(t, err)
}

// brokenAfterAnswer closes the connection when gohbase resets the read deadline, which it does when it awaits no
// answer.
type brokenAfterAnswer struct {
	net.Conn
	left *atomic.Int32
}

func (c *brokenAfterAnswer) SetReadDeadline(at time.Time) error {
	if at.IsZero() && c.left.Add(-1) >= 0 {
		c.Conn.Close()
	}
	return c.Conn.SetReadDeadline(at)
}
