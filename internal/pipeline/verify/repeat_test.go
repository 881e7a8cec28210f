package verify

import (
	"context"
	"hash/crc32"
	"io/fs"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"bulkload/internal/model/fail"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/loader"
)

// errMoving is the error of a region whose server does not answer.
var errMoving = &loader.ConnectionError{Addr: "rs:1", Err: net.ErrClosed}

// stored returns two files in the store, and a survey that finds them there.
func stored(t *testing.T) (*hdfsio.Memory, func() *survey) {
	fsys := hdfsio.NewMemory()
	testcheck.Must(t, fsys.MkdirAll(t.Context(), "/hbase", 0o755))
	file := func(id uint64, name string) foundFile {
		w, err := fsys.Create(t.Context(), "/hbase/"+name, hdfsio.CreateOptions{})
		testcheck.Must(t, err)
		_, err = w.Write([]byte(name))
		testcheck.Must(t, err)
		testcheck.Must(t, w.Finish())
		sum := crc32.Checksum([]byte(name), crc32.MakeTable(crc32.Castagnoli))
		f := loader.HFile{Path: "/d/f/" + name, Family: "f", CRC32C: sum, Size: int64(len(name)), FileID: id}
		return foundFile{file: f, state: stateServed, at: storedFile{id: id, family: "f", path: "/hbase/" + name, size: f.Size}}
	}
	a, b := file(7, "a"), file(8, "b")
	return fsys, func() *survey { return &survey{files: []foundFile{a, b}} }
}

// opens counts how often a file is opened.
type opens struct {
	hdfsio.FS
	mu sync.Mutex
	of map[string]int
}

func (o *opens) Open(ctx context.Context, name string) (fs.File, error) {
	o.mu.Lock()
	o.of[name]++
	o.mu.Unlock()
	return o.FS.Open(ctx, name)
}

// TestRegionsThatMoveAreWaitedFor checks that a store that cannot be asked, because its region moves or its server died, is asked again for as long as
// in other verifications, and that a missing file is not.
func TestRegionsThatMoveAreWaitedFor(t *testing.T) {
	for name, tt := range map[string]struct {
		err    error         // of the stores
		until  time.Duration // until then
		missed int           // looks after that that miss a file
		each   time.Duration // of a look
		took   time.Duration // about
		fails  bool
	}{
		"all is well":                      {},
		"a server died":                    {err: errMoving, until: 90 * time.Second, took: 90 * time.Second},
		"a server died, then a file moved": {err: errMoving, until: 60 * time.Second, missed: 3, took: 65 * time.Second},
		"a server that stays away":         {err: errMoving, until: time.Hour, took: 2 * time.Minute, fails: true},
		"a file is missing for a look":     {missed: 1},
		"a file is missing":                {missed: 4, took: time.Second, fails: true},
		"long looks at a large table":      {missed: 3, each: 3 * time.Minute, took: 12 * time.Minute},
		"no permission":                    {err: fail.Errorf(fail.Check, "no permission"), until: time.Hour, fails: true},
		"the table was dropped":            {err: loader.ErrTableNotFound, until: time.Hour, took: time.Second, fails: true},
	} {
		synctest.Test(t, func(t *testing.T) {
			fsys, found := stored(t)
			began := time.Now()
			got, err := (&Stores{FS: fsys}).compare(t.Context(), func(context.Context) (*survey, error) {
				<-time.After(tt.each)
				if time.Since(began) < tt.until {
					return nil, tt.err
				}
				v := found()
				if tt.missed--; tt.missed >= 0 {
					v.files[1].state = stateNowhere
				}
				return v, nil
			})
			if (err != nil) != tt.fails || err == nil && len(got.files) != 2 {
				t.Errorf("%s: %v", name, err)
			}
			if took := time.Since(began); took < tt.took-3*time.Second || took > tt.took+3*time.Second {
				t.Errorf("%s: it took %s, want about %s", name, took, tt.took)
			}
		})
	}
}

// TestFileThatIsCompactedMeanwhile checks that a file that HBase archives between the look and the question for its checksum is looked for again, and
// that the checksums of other files are not asked for again.
func TestFileThatIsCompactedMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fsys, found := stored(t)
		opened := &opens{FS: fsys, of: map[string]int{}}
		looks := 0
		got, err := (&Stores{FS: opened}).compare(t.Context(), func(context.Context) (*survey, error) {
			v := found()
			switch looks++; looks {
			case 1:
				testcheck.Must(t, fsys.Rename(t.Context(), "/hbase/b", "/hbase/archived"))
			default:
				v.files[1].at.path, v.files[1].state = "/hbase/archived", stateCompacted
			}
			return v, nil
		})
		testcheck.Must(t, err)
		if looks != 2 || opened.of["/hbase/a"] != 1 || opened.of["/hbase/archived"] != 1 || !got.files[0].read || !got.files[1].read {
			t.Errorf("%d looks, files were opened %v, and are %+v", looks, opened.of, got.files)
		}
	})
}
