package loader

import (
	"context"
	"errors"
	"net"
	"os"
	"syscall"
	"testing"

	"bulkload/internal/hadoop/frames"
	"bulkload/internal/test/testrpc"
)

// TestGone checks which answers show that a region server is not the one that was started at a time. One that cannot be reached may run.
func TestGone(t *testing.T) {
	info := func(code uint64) []byte {
		name := frames.AppendNumber(frames.AppendNumber(frames.AppendBytes(nil, 1, []byte("rs")), 2, 16020), serverStartCode, code)
		return frames.AppendBytes(nil, serverInfo, frames.AppendBytes(nil, infoServer, name))
	}
	for name, c := range map[string]struct {
		answer []byte
		err    error
		gone   bool
	}{
		"itself":              {answer: info(1700000000000)},
		"another since":       {answer: info(1700000000001), gone: true},
		"no name":             {},
		"denied":              {err: thrown("org.apache.hadoop.hbase.security.AccessDeniedException", "no")},
		"it starts":           {err: thrown("org.apache.hadoop.hbase.ipc.ServerNotRunningYetException", "not yet"), gone: true},
		"it stops":            {err: thrown("org.apache.hadoop.hbase.regionserver.RegionServerStoppedException", "bye"), gone: true},
		"a broken connection": {err: errors.New("none")},
	} {
		cluster := stubCluster(Config{})
		defer cluster.Close()
		serveStub(cluster, "rs:16020", func(call *testrpc.Call) error {
			call.Answer.ProtoReflect().SetUnknown(c.answer)
			return c.err
		})
		if got := cluster.Gone(t.Context(), "rs,16020,1700000000000"); got != c.gone {
			t.Errorf("%s: gone is %t", name, got)
		}
	}
	dials := 0
	ending := stubCluster(Config{Dialer: func(context.Context, string, string) (net.Conn, error) {
		if dials++; dials < 3 {
			return nil, syscall.ECONNRESET
		}
		return nil, syscall.ECONNREFUSED
	}})
	defer ending.Close()
	if !ending.Gone(t.Context(), "rs,16020,1700000000000") || dials != 3 {
		t.Errorf("a server that is ending is not gone after %d dials", dials)
	}
	for why, err := range map[string]error{"connection refused": syscall.ECONNREFUSED, "unknown host": &net.DNSError{Name: "rs", IsNotFound: true}, "timeout": os.ErrDeadlineExceeded} {
		cluster := stubCluster(Config{Dialer: func(context.Context, string, string) (net.Conn, error) { return nil, err }})
		defer cluster.Close()
		if got := cluster.Gone(t.Context(), "rs,16020,1700000000000"); got != (err == syscall.ECONNREFUSED) {
			t.Errorf("%s: gone is %t", why, got)
		}
	}
}

// TestParseRecovering checks which procedures of the master are recoveries of region servers that have not ended.
func TestParseRecovering(t *testing.T) {
	const crash, split = "org.apache.hadoop.hbase.master.procedure.ServerCrashProcedure", "org.apache.hadoop.hbase.master.assignment.SplitTableRegionProcedure"
	procedure := func(class string, state uint64) []byte {
		b := frames.AppendBytes(nil, procedureClass, []byte(class))
		b = frames.AppendNumber(b, 5, 1700000000000) // submitted_time
		return frames.AppendBytes(nil, proceduresList, frames.AppendNumber(b, procedureState, state))
	}
	for state := uint64(1); state <= 7; state++ { // INITIALIZING, RUNNABLE, WAITING, WAITING_TIMEOUT, ROLLEDBACK, SUCCESS, FAILED
		want := state != 5 && state != 6
		answer := append(procedure(split, 2), procedure(crash, state)...)
		if got, err := parseRecovering(append(answer, procedure(crash, 6)...)); got != want || err != nil {
			t.Errorf("state %d: %t, %v", state, got, err)
		}
	}
	if got, err := parseRecovering(procedure(split, 2)); got || err != nil {
		t.Errorf("a split: %t, %v", got, err)
	}
	if got, err := parseRecovering(nil); got || err != nil {
		t.Errorf("no procedure: %t, %v", got, err)
	}
	whole := procedure(crash, 2)
	if _, err := parseRecovering(whole[:len(whole)-1]); err == nil {
		t.Error("a cut answer is read")
	}
}
