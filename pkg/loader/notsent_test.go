package loader

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"bulkload/internal/hadoop/registry"
	"bulkload/internal/test/testrpc"

	"github.com/tsuna/gohbase/pb"
	"google.golang.org/protobuf/proto"
)

// isLoaded is the answer of a server that has loaded the files.
const isLoaded = "loaded"

// throwing is a server that answers each request with what answer returns for it: the short name of an exception, isLoaded, or an empty string to close
// the connection instead.
func throwing(answer func(req *pb.BulkLoadHFileRequest) string) func(nc net.Conn) {
	return func(nc net.Conn) {
		testrpc.Serve(nc, func(c *testrpc.Call) error {
			switch class := answer(c.Request.(*pb.BulkLoadHFileRequest)); class {
			case "":
				return testrpc.ErrBroken
			case isLoaded:
				c.Answer.(*pb.BulkLoadHFileResponse).Loaded = proto.Bool(true)
				return nil
			default:
				return thrown("org.apache.hadoop.hbase."+class, "no")
			}
		})
	}
}

// sendingLoad returns a load of one file for each region, at its source, whose servers are a function, and the list of its events about files.
func sendingLoad(t *testing.T, serve func(nc net.Conn), regions []Region) (*load, []group, func() []string) {
	t.Helper()
	c := stubCluster(Config{Dialer: testrpc.Pipes(&atomic.Int32{}, serve)})
	fsys := &memFS{files: map[string]uint64{}}
	var groups []group
	var files []HFile
	for i, r := range regions {
		f := HFile{Family: "f", Path: fmt.Sprint("/d/f/file", i), First: []byte("a"), Last: []byte("a"), FileID: uint64(i + 7)}
		fsys.files[f.Path] = f.FileID
		files = append(files, f)
		groups = append(groups, group{region: r, files: []HFile{f}})
	}
	l := settlingLoad(t, c, fsys, files...)
	l.req = l.req.withDefaults()
	l.progressed()
	var events []string
	note := func(event string, files ...HFile) error {
		for _, f := range files {
			events = append(events, event+" "+f.Path)
		}
		return nil
	}
	l.req.Events = Events{
		OnSending: func(groups []Sending) error {
			for _, g := range groups {
				_ = note("sending", g.Files...)
			}
			return nil
		},
		OnLoaded:   func(_ Region, files []HFile) error { return note("loaded", files...) },
		OnReturned: func(_ Region, files []HFile, _ error) error { return note("returned", files...) },
		OnResolved: func(f HFile, place Place) error { return note("resolved "+place.String(), f) },
		OnUnknown:  func(e *UnknownOutcomeError) error { return note("unknown", e.Files...) },
	}
	return l, groups, func() []string {
		slices.Sort(events)
		return events
	}
}

// TestRefusalBeforeTheLoadIsReported checks that files are reported as returned after an exception with which a server refuses a load before it moves
// anything, if they are at their sources. Some coprocessors throw the same exceptions after a load.
func TestRefusalBeforeTheLoadIsReported(t *testing.T) {
	for _, class := range []string{"SpaceLimitingException", "AccessDeniedException"} {
		synctest.Test(t, func(t *testing.T) {
			l, groups, events := sendingLoad(t, throwing(func(*pb.BulkLoadHFileRequest) string { return class }), onServers("rs:1"))
			defer l.cluster.Close()
			err := l.rounds(t.Context(), groups)
			if re, ok := errors.AsType[*RegionError](err); !ok || len(re.Causes) != 1 {
				t.Errorf("%s: error %v", class, err)
			}
			if want := []string{"returned /d/f/file0", "sending /d/f/file0"}; !slices.Equal(events(), want) {
				t.Errorf("%s: events %q, want %q", class, events(), want)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		l, groups, events := sendingLoad(t, throwing(func(*pb.BulkLoadHFileRequest) string { return "DoNotRetryIOException" }), onServers("rs:1"))
		defer l.cluster.Close()
		l.req.FS.(*memFS).files = nil // the server has moved it
		err := l.rounds(t.Context(), groups)
		if _, ok := errors.AsType[*UnknownOutcomeError](err); !ok || l.place["/d/f/file0"] == PlaceSource {
			t.Errorf("error %v of a file that is %s", err, l.place["/d/f/file0"])
		}
		if want := []string{"sending /d/f/file0", "unknown /d/f/file0"}; !slices.Equal(events(), want) {
			t.Errorf("events %q of a file that is not at its source, want %q", events(), want)
		}
	})
}

// TestRefusalAfterRenamesIsFinal checks that a refusal is sent again if it comes at once, and is final if the server has repeated a rename by then.
func TestRefusalAfterRenamesIsFinal(t *testing.T) {
	for took, calls := range map[time.Duration]int32{0: 2, 55 * time.Second: 1} {
		synctest.Test(t, func(t *testing.T) {
			var sent atomic.Int32
			l, groups, _ := sendingLoad(t, func(nc net.Conn) {
				testrpc.Serve(nc, func(c *testrpc.Call) error {
					resp, ok := c.Answer.(*pb.BulkLoadHFileResponse)
					if !ok {
						return nothing(c)
					}
					sent.Add(1)
					<-time.After(took)
					resp.Loaded = proto.Bool(false)
					return nil
				})
			}, onServers("rs:1"))
			stubRegistry(l.cluster, func() string { return "master" })
			defer l.cluster.Close()
			again, err := l.sendRound(t.Context(), groups)
			if len(again) > 0 {
				_, err = l.sendRound(t.Context(), again)
			}
			if _, ok := errors.AsType[*RefusedError](err); !ok || sent.Load() != calls {
				t.Errorf("refused after %s: %d calls, want %d: %v", took, sent.Load(), calls, err)
			}
		})
	}
}

// TestFilesThatWereNotSentAreReported checks that the files whose turn does not come are reported as returned: after a stop, after a stop during a
// connect, at the gate, and after the error of another group. One whose answer was lost is not.
func TestFilesThatWereNotSentAreReported(t *testing.T) {
	stop := errors.New("SIGTERM")
	t.Run("stopped before", func(t *testing.T) {
		l, groups, events := sendingLoad(t, testrpc.Frozen, onServers("rs:1", "rs:1", "rs:2"))
		defer l.cluster.Close()
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(stop)
		err := l.rounds(ctx, groups)
		checkNotSent(t, err, stop, events(), 3)
	})
	t.Run("stopped during connects", func(t *testing.T) {
		l, groups, events := sendingLoad(t, testrpc.Frozen, onServers("rs:1", "rs:2"))
		defer l.cluster.Close()
		ctx, cancel := context.WithCancelCause(t.Context())
		l.cluster.cfg.Dialer = func(context.Context, string, string) (net.Conn, error) {
			cancel(stop)
			return nil, stop
		}
		err := l.rounds(ctx, groups)
		checkNotSent(t, err, stop, events(), 2)
	})
	t.Run("stopped at the gate", func(t *testing.T) {
		l, groups, events := sendingLoad(t, testrpc.Frozen, onServers("rs:1", "rs:1", "rs:2"))
		defer l.cluster.Close()
		ctx, cancel := context.WithCancelCause(t.Context())
		l.req.Gate = gateFunc(func() { cancel(stop) })
		err := l.rounds(ctx, groups)
		checkNotSent(t, err, stop, events(), 3)
	})
	t.Run("another's error", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			sent := make(chan struct{})
			l, groups, events := sendingLoad(t, throwing(func(req *pb.BulkLoadHFileRequest) string {
				if strings.HasSuffix(req.FamilyPath[0].GetPath(), "file0") {
					close(sent)
					return ""
				}
				<-sent
				return "SpaceLimitingException"
			}), onServers("rs:1", "rs:2", "rs:2"))
			defer l.cluster.Close()
			l.req.PerServer = 1
			l.req.FS.(*memFS).files = map[string]uint64{"/d/f/file1": 8, "/d/f/file2": 9} // the server has moved the first
			err := l.rounds(t.Context(), groups)
			if u, ok := errors.AsType[*UnknownOutcomeError](err); !ok || len(u.Files) != 1 || u.Files[0].Path != "/d/f/file0" {
				t.Errorf("error %v", err)
			}
			want := []string{"returned /d/f/file1", "returned /d/f/file2", "sending /d/f/file0", "sending /d/f/file1", "sending /d/f/file2", "unknown /d/f/file0"}
			if got := events(); !slices.Equal(got, want) {
				t.Errorf("events %q, want %q", got, want)
			}
		})
	})
}

// checkNotSent checks that each of n files was announced and then returned, once, and the load's error.
func checkNotSent(t *testing.T, err, cause error, events []string, n int) {
	t.Helper()
	var want []string
	for _, event := range []string{"returned", "sending"} {
		for i := range n {
			want = append(want, fmt.Sprint(event, " /d/f/file", i))
		}
	}
	if !errors.Is(err, cause) || !slices.Equal(events, want) {
		t.Errorf("error %v, events %q, want %q", err, events, want)
	}
}

// slowCutter is a rewriter that takes a time for each cut, into two parts.
type slowCutter struct {
	Rewriter
	fsys *memFS
	each time.Duration
}

func (c slowCutter) Cut(_ context.Context, f HFile, at [][]byte) ([]HFile, error) {
	<-time.After(c.each)
	parts := []HFile{{Family: "f", Path: f.Path + "-1", First: f.First, Last: f.First, FileID: 101}, {Family: "f", Path: f.Path + "-2", First: at[0], Last: f.Last, FileID: 102}}
	for _, p := range parts {
		c.fsys.files[p.Path] = p.FileID
	}
	return parts, nil
}

// TestCuttingIsNoLackOfProgress checks that the time for cutting files between rounds, or a pause within it, does not end a load for a lack of progress.
func TestCuttingIsNoLackOfProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answers := make(chan string, 5)
		for _, answer := range []string{"NotServingRegionException", "RegionTooBusyException", "RegionTooBusyException", isLoaded, isLoaded} {
			answers <- answer
		}
		l, groups, events := sendingLoad(t, throwing(func(*pb.BulkLoadHFileRequest) string { return <-answers }), metaRegions(t, testTable, "rs:1"))
		defer l.cluster.Close()
		m := &stubMeta{regions: metaRegions(t, testTable, "rs:1", "rs:1")} // the region was split meanwhile
		l.req.Table = testTable
		serveStub(l.cluster, "meta:1", m.answer)
		l.cluster.registry.Know(registry.Places{Meta: "meta:1"})
		l.req.Rewriter = slowCutter{fsys: l.req.FS.(*memFS), each: 40 * time.Minute}
		groups[0].files[0].Last = []byte("x")
		err := l.rounds(t.Context(), groups)
		want := []string{
			"loaded /d/f/file0-1", "loaded /d/f/file0-2", "returned /d/f/file0", "returned /d/f/file0-1", "returned /d/f/file0-2",
			"sending /d/f/file0", "sending /d/f/file0-1", "sending /d/f/file0-1", "sending /d/f/file0-2", "sending /d/f/file0-2",
		}
		if got := events(); err != nil || !slices.Equal(got, want) {
			t.Errorf("error %v, events %q, want %q", err, got, want)
		}
	})
}
