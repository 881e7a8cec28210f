package loader

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"path"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"bulkload/internal/test/testcheck"
	"bulkload/pkg/hdfsio"
)

// wire is a dialer whose connections can be disturbed at a call to BulkLoadHFile.
type wire struct {
	sent atomic.Int32 // requests that reached the server
	// before is called before such a request is written; an error prevents the write.
	before func() error
	// lose breaks the connection when the answer arrives.
	lose atomic.Bool
	// swallow discards the next such request, and breaks the connection as if the request had been sent.
	swallow atomic.Bool

	mu    sync.Mutex // guards conns
	conns []*wireConn
}

func (w *wire) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	var d net.Dialer
	nc, err := d.DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	c := &wireConn{Conn: nc, w: w}
	w.mu.Lock()
	w.conns = append(w.conns, c)
	w.mu.Unlock()
	return c, nil
}

// cut breaks all connections.
func (w *wire) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.conns {
		c.Conn.Close()
	}
	w.conns = nil
}

type wireConn struct {
	net.Conn
	w       *wire
	loading atomic.Bool
}

func (c *wireConn) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte("BulkLoadHFile")) {
		if c.w.before != nil {
			if err := c.w.before(); err != nil {
				return 0, err
			}
		}
		if c.w.swallow.Swap(false) {
			c.Conn.Close()
			return len(p), nil
		}
		c.w.sent.Add(1)
		c.loading.Store(true)
	}
	return c.Conn.Write(p)
}

func (c *wireConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 && c.loading.Load() && c.w.lose.Load() {
		c.Conn.Close()
		return 0, syscall.ECONNRESET
	}
	return n, err
}

// TestLostAnswerSendsNothingTwice drops the answer after the server has done the load. It checks that the outcome is resolved, and that nothing is
// sent again.
// Scenario 27 of docs/reliability.md.
func TestLostAnswerSendsNothingTwice(t *testing.T) {
	t.Parallel()
	for _, stage := range []Stage{StageToken, StageDirect} {
		for _, root := range []string{"/hbase", ""} {
			t.Run(fmt.Sprintf("%s, root %q", stage, root), func(t *testing.T) {
				w := &wire{}
				b := newBench(t, func(c *Config) { c.Dialer, c.RootDir = w.dial, root })
				table := b.table(t)
				f := b.hfile(t, b.fs, b.dir, "f", rowsOf("a", 10))
				b.open(t, f)
				var events []string
				w.lose.Store(true)
				report, err := b.Load(t.Context(), LoadRequest{Table: table, Files: []HFile{f}, FS: b.fs, Stage: stage, Timestamp: testTime, Events: recorder(&events)})
				testcheck.Must(t, err)
				want := []string{"prepared", `send "" 1 files attempt 1`, "unknown", "fencing", "loaded", `loaded ""`, "cleaned"}
				if stage == StageDirect {
					want = want[1 : len(want)-1]
				}
				if !slices.Equal(events, want) || w.sent.Load() != 1 || report.Loaded != 1 || report.Cleaned != (stage == StageToken) {
					t.Errorf("events %q, sent %d, report %+v", events, w.sent.Load(), report)
				}
				b.checkRows(t, table, rowsOf("a", 10), "f")
				b.checkOnce(t, table, "f", 1)
			})
		}
	}
}

// TestCutRequestIsFencedAndSentAgain breaks the connection during the request, so that it is unknown whether the request has arrived. It has not: the
// file is fenced, and sent again under its new name.
// Scenario 27 of docs/reliability.md.
func TestCutRequestIsFencedAndSentAgain(t *testing.T) {
	t.Parallel()
	w := &wire{}
	w.swallow.Store(true)
	b := newBench(t, func(c *Config) { c.Dialer, c.RootDir = w.dial, "/hbase" })
	table := b.table(t)
	f := b.hfile(t, b.fs, b.dir, "f", rowsOf("a", 10))
	var events []string
	report, err := b.Load(t.Context(), LoadRequest{Table: table, Files: []HFile{f}, FS: b.fs, Events: recorder(&events)})
	testcheck.Must(t, err)
	want := []string{"prepared", `send "" 1 files attempt 1`, "unknown", "fencing", "fenced", "at its source", `returned ""`,
		`send "" 1 files attempt 2`, `loaded ""`, "cleaned"}
	if !slices.Equal(events, want) || report.Loaded != 1 || report.Regions[0].Files[0].Path != f.Path+".r1" {
		t.Errorf("events %q, report %+v", events, report)
	}
	b.checkRows(t, table, rowsOf("a", 10), "f")
	b.checkOnce(t, table, "f", 1)
}

// TestResumedLoadFinishesTheFirst resumes a load that another process has left: one file is loaded without an answer, one is still in the staging
// directory, and one was not sent.
// Scenario 26 of docs/reliability.md.
func TestResumedLoadFinishesTheFirst(t *testing.T) {
	t.Parallel()
	w := &wire{}
	b := newBench(t, func(c *Config) { c.Dialer, c.RootDir, c.StageQuiet = w.dial, "/hbase", 500*time.Millisecond })
	table := b.table(t, "m", "t")
	files := []HFile{b.hfile(t, b.fs, b.dir, "f", rowsOf("a", 10)), b.hfile(t, b.fs, b.dir, "f", rowsOf("n", 20)), b.hfile(t, b.fs, b.dir, "f", rowsOf("x", 30))}
	for i := range files {
		info, err := b.fs.Stat(t.Context(), fsPath(files[i].Path))
		testcheck.Must(t, err)
		files[i].FileID, _ = hdfsio.FileID(info)
	}
	token := ""
	crash := errors.New("crash")
	ctx, cancel := context.WithCancelCause(t.Context())
	first := Events{
		OnPrepared: func(name string) error { token = name; return nil },
		OnUnknown:  func(*UnknownOutcomeError) error { cancel(crash); return crash },
	}
	w.lose.Store(true)
	_, err := b.Load(ctx, LoadRequest{Table: table, Files: files, FS: b.fs, PerServer: 1, Events: first})
	if !errors.Is(err, crash) {
		t.Fatal(err)
	}
	w.lose.Store(false)
	// The server stopped between the staging directory and the store.
	testcheck.Must(t, b.fs.MkdirAll(t.Context(), fsPath(token)+"/f", 0o777))
	testcheck.Must(t, b.fs.Rename(t.Context(), fsPath(files[1].Path), fsPath(token)+"/f/"+path.Base(files[1].Path)))
	var events []string
	report, err := b.Load(t.Context(), LoadRequest{Table: table, Files: files, Unknown: files[:2], Token: token, FS: b.fs, Events: recorder(&events)})
	testcheck.Must(t, err)
	t.Logf("%q", events)
	if report.Resolved != 1 || report.Loaded != 3 || report.Token != token || !report.Cleaned {
		t.Errorf("report %+v", report)
	}
	b.checkRows(t, table, append(append(rowsOf("a", 10), rowsOf("n", 20)...), rowsOf("x", 30)...), "f")
	b.checkOnce(t, table, "f", 3)
}

// TestStagedFilesLieStillTogether checks that the wait until files in the staging directory are unchanged for StageQuiet is shared by many files.
// Scenario 26 of docs/reliability.md.
func TestStagedFilesLieStillTogether(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(c *Config) {
		c.RootDir, c.StageQuiet, c.SettleTimeout = "/hbase", 5*time.Second, 90*time.Second // one after the other they would take 100 s
	})
	table := b.table(t)
	token, err := b.Prepare(t.Context(), table)
	testcheck.Must(t, err)
	testcheck.Must(t, b.fs.MkdirAll(t.Context(), fsPath(token)+"/f", 0o777))
	var files []HFile
	var all []string
	for i := range 20 {
		rows := rowsOf(fmt.Sprintf("a%02d", i), 5)
		f := b.hfile(t, b.fs, b.dir, "f", rows)
		testcheck.Must(t, b.fs.Rename(t.Context(), fsPath(f.Path), fsPath(token)+"/f/"+path.Base(f.Path)))
		files, all = append(files, f), append(all, rows...)
	}
	report, err := b.Load(t.Context(), LoadRequest{Table: table, Files: files, Unknown: files, Token: token, FS: b.fs})
	testcheck.Must(t, err)
	if report.Loaded != 20 || report.Resolved != 0 || !report.Cleaned {
		t.Errorf("report %+v", report)
	}
	b.checkDigest(t, table, all, "f")
	b.checkOnce(t, table, "f", 20)
}

// TestUndecidedFilesStopTheLoad checks that nothing is sent or deleted if the files of an earlier attempt cannot be queried.
// Scenario 26 of docs/reliability.md.
func TestUndecidedFilesStopTheLoad(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(c *Config) { c.RootDir, c.SettleTimeout = "/hbase", time.Second })
	table := b.table(t)
	token, err := b.Prepare(t.Context(), table)
	testcheck.Must(t, err)
	f := b.hfile(t, b.fs, b.dir, "f", rowsOf("a", 10))
	blind := &blindFS{b.fs, f.Path}
	report, err := b.Load(t.Context(), LoadRequest{Table: table, Files: []HFile{f}, Unknown: []HFile{f}, Token: token, FS: blind})
	t.Log(err)
	if e, ok := errors.AsType[*UnknownOutcomeError](err); !ok || len(e.Files) != 1 || report.Cleaned {
		t.Errorf("%v, report %+v", err, report)
	}
	_, err = b.fs.Stat(t.Context(), fsPath(token))
	testcheck.Must(t, err)
	b.cfg.SettleTimeout = time.Minute // enough for a successful query
	report, err = b.Load(t.Context(), LoadRequest{Table: table, Files: []HFile{f}, Unknown: []HFile{f}, Token: token, FS: b.fs})
	testcheck.Must(t, err)
	if report.Loaded != 1 || report.Token != token || !report.Cleaned {
		t.Errorf("report %+v", report)
	}
	b.checkDigest(t, table, rowsOf("a", 10), "f")
}

// blindFS fails to rename and to query one file.
type blindFS struct {
	FS
	path string
}

var errBlind = errors.New("the NameNode is away")

func (b *blindFS) Rename(ctx context.Context, from, to string) error {
	if from == fsPath(b.path) {
		return errBlind
	}
	return b.FS.Rename(ctx, from, to)
}

func (b *blindFS) Stat(ctx context.Context, name string) (fs.FileInfo, error) {
	if path.Base(name) == path.Base(b.path) {
		return nil, errBlind
	}
	return b.FS.Stat(ctx, name)
}

// TestLoadNotSent breaks the connection before the request is sent, and checks that the load is sent again.
func TestLoadNotSent(t *testing.T) {
	t.Parallel()
	first := true
	w := &wire{before: func() error {
		if first {
			first = false
			return syscall.EPIPE
		}
		return nil
	}}
	b := newBench(t, func(c *Config) { c.Dialer = w.dial })
	table := b.table(t)
	f := b.hfile(t, b.fs, b.dir, "f", rowsOf("a", 10))
	var events []string
	report, err := b.Load(t.Context(), LoadRequest{Table: table, Files: []HFile{f}, FS: b.fs, Events: recorder(&events)})
	testcheck.Must(t, err)
	want := []string{"prepared", `send "" 1 files attempt 1`, `returned ""`, `send "" 1 files attempt 2`, `loaded ""`, "cleaned"}
	if !slices.Equal(events, want) || w.sent.Load() != 1 || report.Regions[0].Attempts != 2 {
		t.Errorf("events %q, sent %d, report %+v", events, w.sent.Load(), report)
	}
	b.checkRows(t, table, rowsOf("a", 10), "f")
}

// TestLoadCancelled ends the context while a load is in flight, and checks that its answer is still read.
func TestLoadCancelled(t *testing.T) {
	t.Parallel()
	cause := errors.New("stopped by the test")
	ctx, cancel := context.WithCancelCause(t.Context())
	w := &wire{before: func() error { cancel(cause); return nil }}
	b := newBench(t, func(c *Config) { c.Dialer = w.dial })
	table := b.table(t, "m")
	files := []HFile{b.hfile(t, b.fs, b.dir, "f", rowsOf("a", 10)), b.hfile(t, b.fs, b.dir, "f", rowsOf("x", 10))}
	report, err := b.Load(ctx, LoadRequest{Table: table, Files: files, FS: b.fs, PerServer: 1})
	if !errors.Is(err, cause) || report.Loaded != 1 || !report.Cleaned || w.sent.Load() != 1 {
		t.Fatalf("%v, sent %d, report %+v", err, w.sent.Load(), report)
	}
	_, err = b.fs.Stat(t.Context(), fsPath(files[1].Path))
	testcheck.Must(t, err)
	b.checkRows(t, table, rowsOf("a", 10), "f")
}

// TestLoadCancelledLost ends the context and loses the answer, and checks that the outcome of the file is resolved before the load ends.
func TestLoadCancelledLost(t *testing.T) {
	t.Parallel()
	cause := errors.New("stopped by the test")
	ctx, cancel := context.WithCancelCause(t.Context())
	w := &wire{before: func() error { cancel(cause); return nil }}
	w.swallow.Store(true)
	b := newBench(t, func(c *Config) { c.Dialer, c.RootDir = w.dial, "/hbase" })
	table := b.table(t)
	f := b.hfile(t, b.fs, b.dir, "f", rowsOf("a", 10))
	var events []string
	report, err := b.Load(ctx, LoadRequest{Table: table, Files: []HFile{f}, FS: b.fs, Events: recorder(&events)})
	if !errors.Is(err, cause) || report.Loaded != 0 || !report.Cleaned || !slices.Contains(events, "fenced") {
		t.Fatalf("%v, events %q, report %+v", err, events, report)
	}
	_, err = b.fs.Stat(t.Context(), fsPath(f.Path)+".r1")
	testcheck.Must(t, err)
	b.checkRows(t, table, nil)
}

// TestScanBrokenConnection cuts all connections during a scan, and checks that every row is returned once, whole and in order.
func TestScanBrokenConnection(t *testing.T) {
	t.Parallel()
	w := &wire{}
	b := newBench(t, func(c *Config) { c.Dialer = w.dial })
	table, all := b.loaded(t, 300)
	i := 0
	testcheck.Must(t, b.Scan(t.Context(), ScanRequest{Table: table, ChunkBytes: 700}, func(row Row) error {
		if i%131 == 7 {
			w.cut()
		}
		if string(row.Key) != all[i] {
			t.Fatalf("row %d is %q, want %q", i, row.Key, all[i])
		}
		i++
		return checkCells(row, "f")
	}))
	if i != len(all) {
		t.Fatalf("%d rows, want %d", i, len(all))
	}
	w.cut()
	_, err := b.Status(t.Context())
	testcheck.Must(t, err)
	w.cut()
	_, err = b.Rows(t.Context(), table, [][]byte{[]byte(all[0]), []byte(all[1])})
	testcheck.Must(t, err)
}
