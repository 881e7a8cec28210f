package loader

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"net"
	"path"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"bulkload/internal/test/testcheck"
)

// memFS is a file system of names, each with an id.
type memFS struct {
	mu    sync.Mutex
	files map[string]uint64
	moved time.Time // time of the last rename
}

type memInfo struct {
	fs.FileInfo
	name string
	id   uint64
}

func (i memInfo) Name() string           { return i.name }
func (i memInfo) FileID() (uint64, bool) { return i.id, true }
func (i memInfo) Mode() fs.FileMode      { return 0o666 }
func (i memInfo) Sys() any               { return nil }

func (m *memFS) Stat(_ context.Context, name string) (fs.FileInfo, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	id, ok := m.files[name]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return memInfo{name: path.Base(name), id: id}, nil
}

func (m *memFS) Rename(_ context.Context, from, to string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	id, ok := m.files[from]
	if !ok {
		return fs.ErrNotExist
	}
	delete(m.files, from)
	m.files[to], m.moved = id, time.Now()
	return nil
}

func (m *memFS) ReadDir(_ context.Context, name string) ([]fs.FileInfo, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var list []fs.FileInfo
	for file, id := range m.files {
		if path.Dir(file) == name {
			list = append(list, memInfo{name: path.Base(file), id: id})
		}
	}
	return list, nil
}

// testStaging is a staging directory.
const testStaging = "/hbase/staging/u__t__1"

// settlingLoad returns a load that resolves outcomes with the files of a file system, without a cluster.
func settlingLoad(t *testing.T, c *Cluster, fsys *memFS, files ...HFile) *load {
	return &load{cluster: c, req: LoadRequest{Table: TableName{Namespace: "default", Qualifier: "t"}, Files: files, FS: fsys}, linger: t.Context(), files: files, report: &LoadReport{},
		staged: testStaging, place: map[string]Place{}, regions: map[string]*RegionLoad{}}
}

// TestStagedFileIsTakenBackWhenItLiesStill checks that after a lost answer, when a server may be about to take a file from the staging directory, the
// file is moved back after StageQuiet without a change, and not before.
func TestStagedFileIsTakenBackWhenItLiesStill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(Config{Quorum: "none:1", EffectiveUser: "x"}.withDefaults(), slog.New(slog.DiscardHandler))
		fsys := &memFS{files: map[string]uint64{testStaging + "/f/a": 7}}
		file := HFile{Family: "f", Path: "/d/f/a", First: []byte("a"), Last: []byte("b"), FileID: 7}
		began := time.Now()
		got, place, err := settlingLoad(t, c, fsys, file).settle(t.Context(), t.Context(), file, Region{Encoded: "r"}, false)
		if err != nil || place != PlaceSource || got.Path != "/d/f/a.r1" || fsys.files["/d/f/a.r1"] != 7 {
			t.Fatalf("the file is %s, %s, %v; there are %v", got.Path, place, err, fsys.files)
		}
		if lay := fsys.moved.Sub(began); lay < c.cfg.StageQuiet {
			t.Errorf("the file was taken back after %s: the server may have been about to load it", lay)
		}
	})
}

// TestRepeatableFileThatIsGone checks that the search for a file that is nowhere ends by itself if loading it twice does no harm, and otherwise when its
// time is over, since a server may still load it.
func TestRepeatableFileThatIsGone(t *testing.T) {
	for _, repeatable := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			c := newCluster(Config{Quorum: "none:1", EffectiveUser: "x"}.withDefaults(), slog.New(slog.DiscardHandler))
			file := HFile{Family: "f", Path: "/d/f/a", First: []byte("a"), Last: []byte("b"), FileID: 7}
			l := settlingLoad(t, c, &memFS{}, file)
			l.req.Repeatable = repeatable
			out := l.settleAll([]HFile{file}, Region{Encoded: "r"}, false)
			if len(out.unknown) != 1 || errors.Is(out.err, errNowhere) != repeatable {
				t.Errorf("repeatable %t: %+v", repeatable, out)
			}
		})
	}
}

// TestOutcomeThatIsNotNotedIsUnknown checks that an outcome that the journal cannot record counts as unknown, as it would be for the next attempt.
func TestOutcomeThatIsNotNotedIsUnknown(t *testing.T) {
	c := newCluster(Config{Quorum: "none:1", EffectiveUser: "x"}.withDefaults(), slog.New(slog.DiscardHandler))
	full := errors.New("no space left")
	for what, events := range map[string]Events{
		"fencing":  {OnFencing: func(HFile, string) error { return full }},
		"fenced":   {OnFenced: func(string, HFile) error { return full }},
		"resolved": {OnResolved: func(HFile, Place) error { return full }},
	} {
		fsys := &memFS{files: map[string]uint64{"/d/f/a": 7, "/d/f/b": 8}}
		files := []HFile{{Family: "f", Path: "/d/f/a", FileID: 7}, {Family: "f", Path: "/d/f/b", FileID: 8}}
		l := settlingLoad(t, c, fsys, files...)
		l.req.Events = events
		out := l.settleAll(files, Region{Encoded: "r"}, false)
		if len(out.unknown) != 2 || len(out.source)+len(out.loaded) > 0 || !errors.Is(out.err, full) {
			t.Errorf("%s is not noted: %d are unknown, at their source %d, loaded %d, by %v", what, len(out.unknown), len(out.source), len(out.loaded), out.err)
		}
	}
	fsys := &memFS{files: map[string]uint64{"/d/f/a": 7}}
	file := HFile{Family: "f", Path: "/d/f/a", FileID: 7}
	if out := settlingLoad(t, c, fsys, file).settleAll([]HFile{file}, Region{Encoded: "r"}, false); len(out.source) != 1 || out.source[0].Path != "/d/f/a.r1" {
		t.Errorf("all is noted: %+v", out)
	}
}

// TestStagingDirectoryWithAFileIsNotDeleted checks that HBase is requested to delete the staging directory only if no file can be in it. The test
// detects the request by the connection that it requires.
func TestStagingDirectoryWithAFileIsNotDeleted(t *testing.T) {
	for what, tt := range map[string]struct {
		files  map[string]uint64
		place  Place
		delete bool
	}{
		"it is empty":             {map[string]uint64{}, PlaceStore, true},
		"it has a file":           {map[string]uint64{testStaging + "/f/other": 9}, PlaceStore, false},
		"a file's place is open":  {map[string]uint64{}, PlaceUnknown, false},
		"a file is in it":         {map[string]uint64{}, PlaceStage, false},
		"a file was seen nowhere": {map[string]uint64{}, PlaceGone, false},
		"all are at their source": {map[string]uint64{"/d/f/a": 7}, PlaceSource, true},
	} {
		var asked atomic.Int32
		server, err := testcheck.Listen("127.0.0.1:0", func(*testcheck.Server, net.Conn) { asked.Add(1) })
		testcheck.Must(t, err)
		c := newCluster(Config{Quorum: server.Addr().String(), EffectiveUser: "x", CallTimeout: 300 * time.Millisecond, LookupTimeout: 100 * time.Millisecond}.withDefaults(), slog.New(slog.DiscardHandler))
		l := settlingLoad(t, c, &memFS{files: tt.files}, HFile{Family: "f", Path: "/d/f/a", FileID: 7})
		l.place["/d/f/a"] = tt.place
		testcheck.Must(t, l.clean(false))
		c.Close()
		testcheck.Must(t, server.Close())
		if got := asked.Load() > 0; got != tt.delete {
			t.Errorf("%s: HBase was asked to delete the staging directory: %t", what, got)
		}
	}
}

// TestRegionsBehindTheLastAreRefused checks that regions that begin where no other region ends, or after the last region, are refused.
func TestRegionsBehindTheLastAreRefused(t *testing.T) {
	for bounds, ok := range map[string]bool{
		"-": true, "-b b-": true, "-b b-d d-": true,
		"- -": false, "- -b b-": false, "-b b- -": false, "-b b- b-": false, "-b c-": false, "-c b-": false, "-b b-d": false, "a-": false,
	} {
		var regions []Region
		for r := range strings.FieldsSeq(bounds) {
			start, end, _ := strings.Cut(r, "-")
			regions = append(regions, Region{Start: []byte(start), End: []byte(end)})
		}
		if err := checkContiguous(TableName{Qualifier: "t"}, regions); (err == nil) != ok {
			t.Errorf("%s: %v", bounds, err)
		}
	}
}
