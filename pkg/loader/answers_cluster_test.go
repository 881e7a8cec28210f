package loader

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"bulkload/internal/test/testcheck"

	"github.com/tsuna/gohbase/pb"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// puppet is a dialer that answers some calls to BulkLoadHFile itself. These calls do not reach the server.
type puppet struct {
	calls atomic.Int32
	// answer returns the class of the exception for the n-th call, from 1. If it is empty, the call is forwarded.
	answer func(n int) string
}

func (p *puppet) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	var d net.Dialer
	server, err := d.DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	ours, theirs := net.Pipe()
	go func() {
		_, _ = io.Copy(theirs, server)
		theirs.Close()
	}()
	go func() {
		defer server.Close()
		chunk := make([]byte, 1<<20) // a pipe returns the data of one Write, which is a whole request
		for {
			n, err := theirs.Read(chunk)
			if err != nil {
				return
			}
			if class := p.decide(chunk[:n]); class != "" {
				_, err = theirs.Write(exception(callID(chunk[:n]), class))
			} else {
				_, err = server.Write(chunk[:n])
			}
			if err != nil {
				return
			}
		}
	}()
	return ours, nil
}

func (p *puppet) decide(request []byte) string {
	if !bytes.Contains(request, []byte("BulkLoadHFile")) {
		return ""
	}
	return p.answer(int(p.calls.Add(1)))
}

// callID returns the id of a request: four bytes of length, then the RequestHeader with its length.
func callID(request []byte) uint32 {
	header, _ := protowire.ConsumeBytes(request[4:])
	id, _ := varintField(header, 1)
	return uint32(id)
}

// exception returns a response with an exception.
func exception(id uint32, class string) []byte {
	header, err := proto.Marshal(&pb.ResponseHeader{CallId: &id, Exception: &pb.ExceptionResponse{
		ExceptionClassName: &class, StackTrace: proto.String(class + ": made up by the test\n\tat X.y(Z.java:1)\n"),
	}})
	if err != nil {
		panic(err)
	}
	body := protowire.AppendBytes(nil, header)
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)
}

// always returns a function that returns the same class for each call.
func always(class string) func(int) string { return func(int) string { return class } }

// TestUnclearExceptionSendsAgain checks that after an exception that does not show whether the load was done, the file is found at its source and
// sent again.
// Scenario 19 of docs/reliability.md.
func TestUnclearExceptionSendsAgain(t *testing.T) {
	t.Parallel()
	for _, stage := range []Stage{StageToken, StageDirect} {
		t.Run(stage.String(), func(t *testing.T) {
			p := &puppet{answer: func(n int) string {
				if n == 1 {
					return "java.io.IOException"
				}
				return ""
			}}
			b := newBench(t, func(c *Config) { c.Dialer, c.RootDir = p.dial, "/hbase" })
			table := b.table(t)
			f := b.hfile(t, b.fs, b.dir, "f", rowsOf("a", 10))
			b.open(t, f)
			var events []string
			report, err := b.Load(t.Context(), LoadRequest{Table: table, Files: []HFile{f}, FS: b.fs, Stage: stage, Events: recorder(&events)})
			testcheck.Must(t, err)
			if p.calls.Load() != 2 || report.Regions[0].Attempts != 2 || !slices.Contains(events, "unknown") || slices.Contains(events, "fencing") {
				t.Errorf("%d calls, events %q, report %+v", p.calls.Load(), events, report)
			}
			b.checkDigest(t, table, rowsOf("a", 10), "f")
			b.checkOnce(t, table, "f", 1)
		})
	}
}

// TestRepeatedExceptionEndsTheLoad checks that a repeated exception ends the load, sooner if an operator must act on it; then the error says what to
// change.
// Scenario 19 of docs/reliability.md.
func TestRepeatedExceptionEndsTheLoad(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	table := b.table(t)
	f := b.hfile(t, b.fs, b.dir, "f", rowsOf("a", 10))
	for _, c := range []struct {
		class, hint string
		calls       int32
	}{
		{"java.io.IOException", "", 5},
		{"org.apache.hadoop.security.AccessControlException", "", 2},
		{"org.apache.hadoop.hbase.security.AccessDeniedException", "grant '" + b.user + "', 'C', '" + table.String() + "'", 1},
		{"org.apache.hadoop.hbase.quotas.SpaceLimitingException", "set_quota", 1}, // row 30
	} {
		t.Run(c.class, func(t *testing.T) {
			p := &puppet{answer: always(c.class)}
			b := newBench(t, func(cfg *Config) { cfg.Dialer, cfg.RootDir = p.dial, "/hbase" })
			report, err := b.Load(t.Context(), LoadRequest{Table: table, Files: []HFile{f}, FS: b.fs})
			t.Log(err)
			e, ok := errors.AsType[*RegionError](err)
			if !ok || !strings.Contains(err.Error(), c.hint) || !strings.Contains(e.Err.Error(), c.class) {
				t.Errorf("%v", err)
			}
			if p.calls.Load() != c.calls || report.Loaded != 0 || !report.Cleaned || report.Regions[0].Place != PlaceSource {
				t.Errorf("%d calls, report %+v", p.calls.Load(), report)
			}
		})
	}
	_, err := b.fs.Stat(t.Context(), fsPath(f.Path))
	testcheck.Must(t, err)
	b.checkRows(t, table, nil)
}

// TestRegionNeverOpenEndsAtDeadline checks that a region that never opens ends the load at the deadline, and that one that opens in time does not.
// Scenario 31 of docs/reliability.md.
func TestRegionNeverOpenEndsAtDeadline(t *testing.T) {
	t.Parallel()
	const away = "org.apache.hadoop.hbase.NotServingRegionException"
	p := &puppet{answer: always(away)}
	b := newBench(t, func(c *Config) { c.Dialer = p.dial })
	table := b.table(t)
	f := b.hfile(t, b.fs, b.dir, "f", rowsOf("a", 10))
	report, err := b.Load(t.Context(), LoadRequest{Table: table, Files: []HFile{f}, FS: b.fs, Deadline: 5 * time.Second})
	t.Log(err)
	if _, ok := errors.AsType[*RegionError](err); !ok || p.calls.Load() < 2 || !report.Cleaned {
		t.Fatalf("%v, %d calls, report %+v", err, p.calls.Load(), report)
	}
	p.answer = func(n int) string {
		if n < 4 {
			return away
		}
		return ""
	}
	p.calls.Store(0)
	_, err = b.Load(t.Context(), LoadRequest{Table: table, Files: []HFile{f}, FS: b.fs})
	testcheck.Must(t, err)
	b.checkDigest(t, table, rowsOf("a", 10), "f")
}

// TestTableDisabledWhileLoading checks that a table that is disabled between check and call ends the load at once, with an error that has the state.
// Scenario 31 of docs/reliability.md.
func TestTableDisabledWhileLoading(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	table := b.table(t)
	f := b.hfile(t, b.fs, b.dir, "f", rowsOf("a", 10))
	events := Events{OnSending: func(groups []Sending) error {
		if groups[0].Attempt > 1 {
			return nil
		}
		return b.DisableTable(t.Context(), table)
	}}
	for _, shared := range []bool{false, true} { // a shared load reads the table before each round
		began := time.Now()
		report, err := b.Load(t.Context(), LoadRequest{Table: table, Files: []HFile{f}, FS: b.fs, Timestamp: 1, Shared: shared, Events: events})
		t.Log(err)
		e, ok := errors.AsType[*StateError](err)
		if took := time.Since(began); !ok || e.State != Disabled || report.Loaded != 0 || report.Regions[0].Place != PlaceSource || took > time.Minute {
			t.Fatalf("shared %v: %v after %s, report %+v", shared, err, took, report)
		}
		testcheck.Must(t, b.EnableTable(t.Context(), table))
	}
	_, err := b.Load(t.Context(), LoadRequest{Table: table, Files: []HFile{f}, FS: b.fs})
	testcheck.Must(t, err)
	b.checkDigest(t, table, rowsOf("a", 10), "f")
}

// TestFamilyGoneWhileLoading checks that a table that is made again without the files' family while they are sent ends the load with an error that
// names the family, though the servers refuse the files without a reason.
func TestFamilyGoneWhileLoading(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	table := b.table(t)
	f := b.hfile(t, b.fs, b.dir, "f", rowsOf("a", 10))
	report, err := b.Load(t.Context(), LoadRequest{Table: table, Files: []HFile{f}, FS: b.fs, Events: Events{
		OnSending: func(groups []Sending) error {
			if groups[0].Attempt > 1 {
				return nil
			}
			return errors.Join(b.DeleteTable(t.Context(), table), b.CreateTable(t.Context(), TableSpec{Name: table, Families: testFamilies[1:]}))
		},
	}})
	t.Log(err)
	if e, ok := errors.AsType[*FamilyError](err); !ok || !slices.Equal(e.Unknown, []string{"f"}) || report.Loaded != 0 || report.Regions[0].Place != PlaceSource {
		t.Fatalf("%v, report %+v", err, report)
	}
}

// TestTableDisabledBeforeTheCleanup checks that a table that is disabled after the last file was loaded keeps its staging directory, and that no
// call waits for the table.
func TestTableDisabledBeforeTheCleanup(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	table := b.table(t)
	f := b.hfile(t, b.fs, b.dir, "f", rowsOf("a", 10))
	var began time.Time
	report, err := b.Load(t.Context(), LoadRequest{Table: table, Files: []HFile{f}, FS: b.fs, Events: Events{OnCleaning: func(ctx context.Context) error {
		defer func() { began = time.Now() }()
		return b.DisableTable(ctx, table)
	}}})
	if took := time.Since(began); err != nil || report.Loaded != 1 || report.Cleaned || took > 10*time.Second {
		t.Fatalf("%v after %s, report %+v", err, took, report)
	}
	testcheck.Must(t, b.EnableTable(t.Context(), table))
	testcheck.Must(t, b.Cleanup(t.Context(), table, report.Token))
	b.checkDigest(t, table, rowsOf("a", 10), "f")
}

// TestReadOnlyTableIsRefused checks that a load into a read-only table is rejected.
// Scenario 31 of docs/reliability.md.
func TestReadOnlyTableIsRefused(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	table := b.tableSpec(t, TableSpec{Families: testFamilies, Attributes: map[string]string{"READONLY": "true"}})
	err := refuseBefore(t, b, table, b.hfile(t, b.fs, b.dir, "f", rowsOf("a", 10)))
	if e, ok := errors.AsType[*StateError](err); !ok || !strings.Contains(e.Reason.String(), "READONLY") {
		t.Error(err)
	}
}

// TestFileGoneBeforeSending removes a file between check and call: the load ends with an error that names the file.
// Scenario 2 of docs/reliability.md.
func TestFileGoneBeforeSending(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(c *Config) { c.RootDir = "/hbase" })
	table := b.table(t, "m")
	files := []HFile{b.hfile(t, b.fs, b.dir, "f", rowsOf("a", 10)), b.hfile(t, b.fs, b.dir, "f", rowsOf("x", 10))}
	report, err := b.Load(t.Context(), LoadRequest{Table: table, Files: files, FS: b.fs, PerServer: 1, Events: Events{
		OnSending: func([]Sending) error { return b.fs.Remove(t.Context(), fsPath(files[1].Path)) },
	}})
	t.Log(err)
	e, ok := errors.AsType[*RefusedError](err)
	if !ok || e.Files[0].File.Path != files[1].Path || e.Files[0].Place != PlaceGone || report.Loaded != 1 {
		t.Fatalf("%v, report %+v", err, report)
	}
	b.checkDigest(t, table, rowsOf("a", 10), "f")
	super := b.fsAs(t, "hbase")
	t.Cleanup(func() { testcheck.Must(t, super.RemoveAll(context.WithoutCancel(t.Context()), fsPath(report.Token))) })
	if _, err := super.Stat(t.Context(), fsPath(report.Token)); report.Cleaned || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the staging directory was deleted while a file was missing: %v", err)
	}
}
