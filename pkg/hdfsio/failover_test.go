package hdfsio

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"bulkload/internal/hadoop/dfs"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testdfs"
)

const standby = "org.apache.hadoop.ipc.StandbyException"

// TestReadDuringFailover checks that a read outlasts NameNodes that are standby, starting or observers, and that an answer about the file ends it
// at once.
func TestReadDuringFailover(t *testing.T) {
	data := noise(2000)
	for _, c := range []struct {
		class string
		is    error // of the read; nil: it succeeds
	}{
		{standby, nil}, {"org.apache.hadoop.ipc.RetriableException", nil}, {safeMode, nil}, {observing, nil},
		{"java.io.FileNotFoundException", fs.ErrNotExist}, {"org.apache.hadoop.security.AccessControlException", fs.ErrPermission},
	} {
		for _, method := range []string{"getBlockLocations", "getFileInfo", "getServerDefaults"} {
			t.Run(c.class+" "+method, func(t *testing.T) {
				t.Parallel()
				h, f := newFakeHDFS(t, fakeBlock{data, []*fakeDataNode{newFakeDataNode(t, testdfs.UsualShape, nil)}})
				defer h.Close()
				file, err := h.Open(t.Context(), "/f")
				testcheck.Must(t, err)
				defer file.Close()
				before := f.count(method)
				f.refusing(func(m string, calls int) string {
					if m == method && calls == before+1 {
						return c.class
					}
					return ""
				})
				got, err := io.ReadAll(file)
				calls := f.count(method) - before
				if c.is == nil && (err != nil || !bytes.Equal(got, data) || calls != 2) || c.is != nil && (!errors.Is(err, c.is) || calls != 1) {
					t.Errorf("%d bytes after %d calls: %v", len(got), calls, err)
				}
			})
		}
	}
}

// TestTokenWaits checks that a delegation token is asked for again while the NameNode fails over, is in safe mode or starts, and that a refusal is final.
func TestTokenWaits(t *testing.T) {
	for _, c := range []struct {
		class string
		calls int
	}{{standby, 2}, {"org.apache.hadoop.ipc.RetriableException", 2}, {safeMode, 2}, {"java.io.IOException", 1}} {
		t.Run(c.class, func(t *testing.T) {
			t.Parallel()
			h, f := newFakeHDFS(t)
			defer h.Close()
			f.refusing(func(m string, calls int) string {
				if m == "getDelegationToken" && calls == 1 {
					return c.class
				}
				return ""
			})
			token, _, err := h.DelegationToken(t.Context(), "hbase")
			if calls := f.count("getDelegationToken"); calls != c.calls || (err == nil) != (c.calls > 1) || err == nil && string(token.Identifier) != "identifier" ||
				err != nil && !strings.Contains(err.Error(), c.class) {
				t.Errorf("%v, %v after %d calls", token, err, calls)
			}
		})
	}
}

// script fails reads with its errors, one after the other, before it gives bytes.
type script struct {
	errs  []error
	reads int
}

func (s *script) ReadAt(_ context.Context, p []byte, _ int64) (int, error) {
	if s.reads++; s.reads <= len(s.errs) {
		return 0, s.errs[s.reads-1]
	}
	return len(p), nil
}

func (s *script) Close() {}

// TestReadsAreRepeated checks how often a read is repeated: for RetryTimeout while the NameNode fails, and [readAttempts] times if DataNodes do.
func TestReadsAreRepeated(t *testing.T) {
	node, away := errors.New("datanode: reset"), error(&dfs.NameNodeError{Err: errors.New("connection refused")})
	times := func(n int, err error) (errs []error) {
		for range n {
			errs = append(errs, err)
		}
		return errs
	}
	fake := serveFake(t, fakeBlock{noise(2000), nil})
	defer fake.Close()
	info, err := fake.stat(t.Context(), "stat", "/f")
	testcheck.Must(t, err)
	for what, c := range map[string]struct {
		errs  []error
		reads int
		text  string // of the error; empty: none
	}{
		"a NameNode restarts":            {times(12, away), 13, ""},
		"a NameNode is away":             {times(100, away), 0, "no answer for "},
		"DataNodes come back":            {times(readAttempts-1, node), readAttempts, ""},
		"DataNodes are away":             {times(100, node), readAttempts, "at byte 7: datanode: reset"},
		"a DataNode fails and a restart": {append(append([]error{node}, times(12, away)...), node), 15, ""},
		"DataNodes fail, and restarts":   {append(append(times(3, node), away, away), times(3, node)...), 8, "at byte 7: datanode: reset"},
		"the file is replaced":           {[]error{dfs.ErrReplaced}, 1, "replaced"},
		"the client is closed":           {[]error{&dfs.NameNodeError{Err: fs.ErrClosed}}, 1, "closed"},
		"the NameNode has no such file":  {[]error{&dfs.NameNodeError{Err: fs.ErrNotExist}}, 1, "at byte 7: file does not exist"},
	} {
		synctest.Test(t, func(t *testing.T) {
			h, err := NewHDFS(HDFSOptions{Addresses: []string{"127.0.0.1:1"}, User: "u"})
			testcheck.Must(t, err)
			h.dfs.Meet()
			h.options.Security = &Security{} // so that it does not look whether the NameNode wants a login
			h.closed = what == "the client is closed"
			s := &script{errs: c.errs}
			r := &hdfsStream{hdfs: h, ctx: t.Context(), name: "/f", info: info, r: s, off: 7}
			n, err := r.read(make([]byte, 10))
			if c.text == "" && (err != nil || n != 10) || c.text != "" && (err == nil || !strings.Contains(err.Error(), c.text)) {
				t.Errorf("%s: %d bytes, %v", what, n, err)
			}
			if c.reads > 0 && s.reads != c.reads || c.reads == 0 && (s.reads < 12 || s.reads == len(c.errs)) {
				t.Errorf("%s: %d reads, want %d", what, s.reads, c.reads)
			}
			if pe, ok := errors.AsType[*fs.PathError](err); err != nil && (!ok || pe.Path != "/f" || pe.Op != "read") {
				t.Errorf("%s: %v", what, err)
			}
		})
	}
}

// TestWaitingReadEndsWithItsContext checks that a read that waits for a NameNode ends with its context.
func TestWaitingReadEndsWithItsContext(t *testing.T) {
	h, f := newFakeHDFS(t, fakeBlock{noise(2000), []*fakeDataNode{newFakeDataNode(t, testdfs.UsualShape, nil)}})
	defer h.Close()
	why := errors.New("stopped")
	ctx, cancel := context.WithCancelCause(t.Context())
	file, err := h.Open(ctx, "/f")
	testcheck.Must(t, err)
	defer file.Close()
	f.refusing(func(_ string, calls int) string {
		if calls == 2 {
			cancel(why)
		}
		return standby
	})
	if _, err := file.Read(make([]byte, 10)); !errors.Is(err, why) || f.count("getBlockLocations") > 3 {
		t.Errorf("%v after %v", err, f.calls)
	}
}

// TestWriteDuringFailover checks that a writer asks for its next block until RetryTimeout while no NameNode is active, and asks again if none gives
// the key of the connection to the DataNode.
func TestWriteDuringFailover(t *testing.T) {
	node := &fakeDataNode{listener: testcheck.Serve(t, func(net.Conn) {}), blocks: map[uint64][]byte{}}
	for method, most := range map[string]int{"addBlock": 1000, "getDataEncryptionKey": 2} {
		h, f := newFakeHDFS(t, fakeBlock{nil, []*fakeDataNode{node}})
		f.mu.Lock()
		f.secret = true
		f.mu.Unlock()
		f.refusing(func(m string, calls int) string {
			if m == method && calls <= most {
				return standby
			}
			return ""
		})
		w, err := h.create(t.Context(), "/f", CreateOptions{}.withDefaults())
		testcheck.Must(t, err)
		if method == "addBlock" {
			h.options.RetryTimeout = 300 * time.Millisecond
		}
		_, err = w.Write([]byte("x"))
		blocks, keys := f.count("addBlock"), f.count("getDataEncryptionKey")
		if method == "addBlock" && (blocks > 3 || keys > 0 || err == nil || !strings.Contains(err.Error(), "no answer for ")) {
			t.Errorf("%d blocks asked for: %v", blocks, err)
		}
		if method != "addBlock" && (blocks != 3 || keys != 3 || err == nil || !strings.Contains(err.Error(), "write to datanode ")) {
			t.Errorf("%d blocks and %d keys asked for: %v", blocks, keys, err)
		}
		w.giveUp()
		testcheck.Must(t, h.Close())
	}
}

// TestNextBlockAfterFailover checks that a writer whose NameNode was away waits as long as ever for the DataNodes to report the previous block.
func TestNextBlockAfterFailover(t *testing.T) {
	away, unreported := &dfs.NameNodeError{Err: errors.New("connection refused")}, &dfs.NameNodeError{Err: answerOf{class: notReplicatedYet}}
	for _, c := range []struct{ away, unreported, asked int }{{0, 3, 4}, {12, 3, 16}, {0, 100, 0}, {12, 100, 0}} {
		synctest.Test(t, func(t *testing.T) {
			h, err := NewHDFS(HDFSOptions{Addresses: []string{"127.0.0.1:1"}, User: "u"})
			testcheck.Must(t, err)
			h.dfs.Meet()
			h.options.Security = &Security{} // so that it does not look whether the NameNode wants a login
			w, asked := &hdfsWriter{writing: writing{ctx: t.Context(), name: "/f"}, hdfs: h}, 0
			err = w.nextBlock(func() error {
				switch asked++; {
				case asked <= c.away:
					return away
				case asked <= c.away+c.unreported:
					return unreported
				}
				return nil
			})
			if c.asked > 0 && (err != nil || asked != c.asked) || c.asked == 0 && (javaClass(err) != notReplicatedYet || asked < c.away+4) {
				t.Errorf("%+v: asked %d times: %v", c, asked, err)
			}
		})
	}
}

// TestZoneDuringFailover checks that no answer of an active NameNode is not taken for the answer that there are no zones.
func TestZoneDuringFailover(t *testing.T) {
	for class, fails := range map[string]bool{standby: true, "org.apache.hadoop.ipc.RpcNoSuchMethodException": false} {
		h, f := newFakeHDFS(t)
		f.refusing(func(string, int) string { return class })
		h.options.RetryTimeout = 1
		if z, err := h.Zone(t.Context(), "/f"); (err != nil) != fails || z != (Zone{}) {
			t.Errorf("%s: %+v, %v", class, z, err)
		}
		testcheck.Must(t, h.Close())
	}
}
