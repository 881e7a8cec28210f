package statetable

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"bulkload/internal/test/testcheck"

	"golang.org/x/sync/errgroup"
)

// A lostNet makes connections that silently lose all sent data while it is cut, as a network may.
type lostNet struct {
	cut  atomic.Bool
	lost atomic.Int64 // writes
	open sync.Map     // the connections
}

type lostConn struct {
	net.Conn
	n *lostNet
}

func (n *lostNet) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	c, err := new(net.Dialer).DialContext(ctx, network, addr)
	if err == nil {
		n.open.Store(c, nil)
	}
	return lostConn{c, n}, err
}

// repair closes the connections, whose streams lack the lost data.
func (n *lostNet) repair() {
	n.cut.Store(false)
	for c := range n.open.Range {
		_ = c.(net.Conn).Close()
	}
}

func (c lostConn) Write(p []byte) (int, error) {
	if c.n.cut.Load() {
		c.n.lost.Add(1)
		return len(p), nil
	}
	return c.Conn.Write(p)
}

// TestTableOutOfReach checks that a record has all of its time, even if a call that no caller waits for hangs when it is written. Records that can
// wait do not wait for that call. In the end the table has all records that are not withdrawn.
func TestTableOutOfReach(t *testing.T) {
	t.Parallel()
	var n lostNet
	table := newTableBy(t, n.dial)
	o, _, err := silent(table).Take(t.Context(), "job", nil, nil)
	testcheck.Must(t, err)
	testcheck.Must(t, o.Append(t.Context(), []byte("one")))
	n.cut.Store(true)
	testcheck.Must(t, o.Queue([]byte("two"), true))
	testcheck.Eventually(t, time.Minute, "the record that hurries is on its way", func() (bool, any) { return n.lost.Load() > 0, n.lost.Load() })
	testcheck.Must(t, o.Queue([]byte("three"), false))
	testcheck.Must(t, o.Lost())
	ended := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		ended <- o.Append(ctx, []byte("withdrawn"))
	}()
	select {
	case err := <-ended:
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the record ends with %v", err)
		}
	case <-time.After(time.Minute):
		t.Error("the record waits for a call that no caller waits for")
	}
	n.repair()
	testcheck.Must(t, o.Append(t.Context(), []byte("four")))
	c, err := table.Read(t.Context(), "job")
	checkRecords(t, c, err, lines("one", "two", "three", "four"))
	testcheck.Must(t, o.Delete(t.Context()))
}

// TestManyRecordAtOnce checks that the table has the records of several goroutines, each once and those of one goroutine in order, while beats are
// written and the network breaks.
func TestManyRecordAtOnce(t *testing.T) {
	t.Parallel()
	var n lostNet
	table := newTableBy(t, n.dial)
	quick := *table
	quick.beatEvery = 5 * time.Millisecond
	o, _, err := quick.Take(t.Context(), "job", func() []byte { return []byte("live") }, nil)
	testcheck.Must(t, err)
	const each = 60
	var g errgroup.Group
	for who := range 4 {
		g.Go(func() error {
			for i := range each {
				line := fmt.Appendf(nil, "%d %d", who, i)
				var err error
				switch who {
				case 0:
					err = o.Append(t.Context(), line)
				case 1:
					err = errors.Join(o.Append(t.Context(), line), o.Check(t.Context()))
				default:
					err = o.Queue(line, i%2 == 0)
				}
				if err != nil {
					return err
				}
				if who == 0 && i%20 == 10 {
					n.repair() // breaks all connections
				}
			}
			return nil
		})
	}
	testcheck.Must(t, g.Wait())
	testcheck.Must(t, o.Release(t.Context()))
	c, err := table.Read(t.Context(), "job")
	testcheck.Must(t, err)
	next := map[int]int{}
	for at, line := range c.Records {
		var who, i int
		if _, err := fmt.Sscanf(string(line), "%d %d", &who, &i); err != nil || i != next[who] {
			t.Fatalf("record %d is %q, want number %d of it", at+1, line, next[who])
		}
		next[who]++
	}
	if len(c.Records) != 4*each {
		t.Errorf("%d records are in the table, want %d: %v", len(c.Records), 4*each, next)
	}
}
