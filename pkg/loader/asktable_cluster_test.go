package loader

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"testing"
	"time"

	"bulkload/internal/hadoop/hbaserpc"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testcluster"

	"github.com/tsuna/gohbase/pb"
	"google.golang.org/protobuf/proto"
)

// mutate puts or deletes one column of a row at a timestamp.
func (b *bench) mutate(t testing.TB, table TableName, row, family, qualifier string, at int64, kind pb.MutationProto_DeleteType, del bool) {
	t.Helper()
	regions, err := b.Regions(t.Context(), table)
	testcheck.Must(t, err)
	r := regions[find(regions, []byte(row))]
	l, err := b.rpc.Connect(t.Context(), r.Server, hbaserpc.ClientService)
	testcheck.Must(t, err)
	value := &pb.MutationProto_ColumnValue_QualifierValue{Qualifier: []byte(qualifier), Timestamp: proto.Uint64(uint64(at))}
	m := &pb.MutationProto{Row: []byte(row), MutateType: pb.MutationProto_PUT.Enum(), ColumnValue: []*pb.MutationProto_ColumnValue{{
		Family: []byte(family), QualifierValue: []*pb.MutationProto_ColumnValue_QualifierValue{value}}}}
	if value.Value = []byte("another's"); del {
		m.MutateType, value.Value, value.DeleteType = pb.MutationProto_DELETE.Enum(), nil, kind.Enum()
	}
	testcheck.Must(t, l.Invoke(t.Context(), "Mutate", &pb.MutateRequest{Region: r.specifier(), Mutation: m}, &pb.MutateResponse{}))
}

func (b *bench) put(t testing.TB, table TableName, row, family, qualifier string, at int64) {
	t.Helper()
	b.mutate(t, table, row, family, qualifier, at, 0, false)
}

// compacting creates a table whose files may be compacted.
func (b *bench) compacting(t testing.TB) TableName {
	t.Helper()
	return b.tableSpec(t, TableSpec{Families: []Family{{Name: "f", Compression: testcluster.Codec(), Encoding: "FAST_DIFF"}, {Name: "g"}}})
}

// archiveAndForget compacts a table, makes its regions move the compacted files into the archive, and deletes them there like HBase's cleaner, which
// does so after some minutes.
func (b *bench) archiveAndForget(t testing.TB, table TableName) {
	t.Helper()
	adm := b.cluster.AdminT(t)
	for _, command := range []string{"major-compact", "disable", "enable"} {
		_, err := adm.Run(t.Context(), command, table.String())
		testcheck.Must(t, err)
	}
	archive := path.Join("/hbase/archive/data", table.Namespace, table.Qualifier)
	super := b.fsAs(t, "hbase")
	testcheck.Eventually(t, time.Minute, "the archive of the compacted files", func() (bool, any) {
		_, err := super.Stat(t.Context(), archive)
		return err == nil, err
	})
	testcheck.Must(t, super.RemoveAll(t.Context(), archive))
}

// withIdentity returns a file with the identity that a journal would record.
func (b *bench) withIdentity(t testing.TB, f HFile) HFile {
	t.Helper()
	files := []HFile{f}
	testcheck.Must(t, (&load{req: LoadRequest{FS: b.fs}}).identify(t.Context(), files))
	return files[0]
}

// loadedLongAgo loads a file and removes every trace of it by a compaction. It returns the request of a load that resumes without the answer.
func (b *bench) loadedLongAgo(t testing.TB, table TableName, req LoadRequest) LoadRequest {
	t.Helper()
	req.Files = []HFile{b.withIdentity(t, b.hfile(t, b.fs, b.dir, "f", rowsOf("a", 10)))}
	req.Table, req.FS = table, b.fs
	req.Events.OnSending = func(groups []Sending) error { req.Files[0] = groups[0].Files[0]; return nil } // the record of a journal
	_, err := b.Load(t.Context(), req)
	testcheck.Must(t, err)
	b.archiveAndForget(t, table)
	req.Unknown, req.Events = req.Files, Events{}
	return req
}

func TestCompactedAndArchivedFileIsFoundByItsCells(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(c *Config) { c.RootDir, c.SettleTimeout = "/hbase", time.Minute })
	for _, shared := range []bool{false, true} {
		t.Run(fmt.Sprintf("shared timestamp %t", shared), func(t *testing.T) {
			table := b.compacting(t)
			req := b.loadedLongAgo(t, table, LoadRequest{Timestamp: testTime, Shared: shared})
			report, err := b.Load(t.Context(), req)
			testcheck.Must(t, err)
			if report.Resolved != 1 || !report.Cleaned {
				t.Errorf("report %+v", report)
			}
			b.checkDigest(t, table, rowsOf("a", 10), "f")
		})
	}
}

// TestCellsHiddenFromReadersStillTell checks the search for cells of the first and last row that newer versions and delete markers hide.
func TestCellsHiddenFromReadersStillTell(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(c *Config) { c.SettleTimeout = time.Minute }) // without the root, only the table can show the outcome
	table := b.table(t)
	f := b.withIdentity(t, b.hfile(t, b.fs, b.dir, "f", rowsOf("a", 10)))
	_, err := b.Load(t.Context(), LoadRequest{Table: table, Files: []HFile{f}, FS: b.fs})
	testcheck.Must(t, err)
	for _, q := range []string{"a", "b", "c"} {
		b.put(t, table, string(f.First), "f", q, testTime+5)
		b.mutate(t, table, string(f.Last), "f", q, testTime+5, pb.MutationProto_DELETE_MULTIPLE_VERSIONS, true)
	}
	report, err := b.Load(t.Context(), LoadRequest{Table: table, Files: []HFile{f}, Unknown: []HFile{f}, FS: b.fs, Timestamp: testTime})
	testcheck.Must(t, err)
	if report.Resolved != 1 {
		t.Errorf("report %+v", report)
	}
}

// TestAbsentCellsProveNothing checks that the outcome of a missing file whose cells are not in the table stays unknown.
func TestAbsentCellsProveNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(c *Config) { c.RootDir, c.SettleTimeout = "/hbase", 2*time.Second })
	table := b.table(t)
	gone := func() HFile {
		f := b.withIdentity(t, b.hfile(t, b.fs, b.dir, "f", rowsOf("a", 10)))
		testcheck.Must(t, b.fs.Remove(t.Context(), fsPath(f.Path)))
		return f
	}
	refuse := func(t *testing.T, f HFile, req LoadRequest, want error) {
		t.Helper()
		req.Table, req.FS, req.Files, req.Unknown = table, b.fs, []HFile{f}, []HFile{f}
		report, err := b.Load(t.Context(), req)
		if e, ok := errors.AsType[*UnknownOutcomeError](err); !ok || !errors.Is(e, want) || report.Loaded != 0 {
			t.Errorf("%v, report %+v", err, report)
		}
		testcheck.Must(t, b.Cleanup(t.Context(), table, report.Token)) // an unknown outcome keeps it
	}
	t.Run("no cells", func(t *testing.T) { refuse(t, gone(), LoadRequest{Timestamp: testTime}, errNoCells) })
	t.Run("no timestamp", func(t *testing.T) { refuse(t, gone(), LoadRequest{}, errNoTimestamp) })
	t.Run("cells of another family", func(t *testing.T) {
		f := gone()
		b.put(t, table, string(f.First), "g", "a", testTime)
		b.put(t, table, string(f.Last), "g", "a", testTime)
		refuse(t, f, LoadRequest{Timestamp: testTime}, errNoCells)
	})
	t.Run("a delete marker of the timestamp", func(t *testing.T) {
		f := gone()
		for _, row := range [][]byte{f.First, f.Last} {
			b.mutate(t, table, string(row), "f", "a", testTime, pb.MutationProto_DELETE_MULTIPLE_VERSIONS, true)
		}
		refuse(t, f, LoadRequest{Timestamp: testTime}, errNoCells)
	})
	t.Run("another's cell in one of the rows", func(t *testing.T) {
		f := gone()
		b.put(t, table, string(f.First), "f", "a", testTime)
		refuse(t, f, LoadRequest{Timestamp: testTime}, errNoCellsInOne)
		refuse(t, f, LoadRequest{Timestamp: testTime, Shared: true}, errNotVacant)
	})
	t.Run("an earlier job's cells of the same timestamp", func(t *testing.T) {
		f := gone()
		b.put(t, table, string(f.First), "f", "a", testTime)
		b.put(t, table, string(f.Last), "f", "a", testTime)
		refuse(t, f, LoadRequest{Timestamp: testTime, Shared: true}, errNotVacant)
	})
}

// TestCellsBeforeTheLoadAreNoProof checks that a file is not Vacant if its rows had cells of a shared timestamp before.
func TestCellsBeforeTheLoadAreNoProof(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(c *Config) { c.RootDir = "/hbase" })
	table := b.table(t)
	f := b.hfile(t, b.fs, b.dir, "f", rowsOf("a", 10))
	b.put(t, table, string(f.First), "f", "a", testTime)
	b.put(t, table, string(f.Last), "f", "a", testTime)
	var sent HFile
	_, err := b.Load(t.Context(), LoadRequest{Table: table, Files: []HFile{f}, FS: b.fs, Timestamp: testTime, Shared: true,
		Events: Events{OnSending: func(groups []Sending) error { sent = groups[0].Files[0]; return nil }}})
	testcheck.Must(t, err)
	if sent.Vacant {
		t.Error("the rows had cells of the timestamp")
	}
}

// shyFS fails to list stores, always, as if HBase's directories had mode 0700, or only a few times.
type shyFS struct {
	FS
	fails int // number of failures; below 0: always
}

func (s *shyFS) ReadDir(ctx context.Context, name string) ([]fs.FileInfo, error) {
	if strings.HasPrefix(name, "/hbase/data/") && s.fails != 0 {
		s.fails--
		return nil, fmt.Errorf("list %s: %w", name, fs.ErrPermission)
	}
	return s.FS.ReadDir(ctx, name)
}

// TestFailedListingIsNotTakenForLoaded checks that the outcome of a file that was not loaded, and is not found anywhere, is unknown if the stores
// cannot be listed.
func TestFailedListingIsNotTakenForLoaded(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(c *Config) { c.RootDir, c.SettleTimeout = "/hbase", 3*time.Second })
	table := b.table(t)
	f := b.withIdentity(t, b.hfile(t, b.fs, b.dir, "f", rowsOf("a", 10)))
	testcheck.Must(t, b.fs.Remove(t.Context(), fsPath(f.Path)))
	for _, fails := range []int{1, -1} {
		report, err := b.Load(t.Context(), LoadRequest{Table: table, Files: []HFile{f}, Unknown: []HFile{f}, FS: &shyFS{b.fs, fails}, Timestamp: testTime})
		if _, ok := errors.AsType[*UnknownOutcomeError](err); !ok || report.Loaded != 0 {
			t.Errorf("%v, report %+v", err, report)
		}
		testcheck.Must(t, b.Cleanup(t.Context(), table, report.Token)) // an unknown outcome keeps it
		if fails < 0 && !errors.Is(err, fs.ErrPermission) {
			t.Errorf("it does not say why: %v", err)
		}
	}
}

// TestStoresThatCannotBeListed checks that a loaded file is found if a listing fails a few times, or if the stores are closed to this user and the
// table has the cells.
func TestStoresThatCannotBeListed(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(c *Config) { c.RootDir, c.SettleTimeout = "/hbase", 2*time.Minute })
	for name, fails := range map[string]int{"once": 3, "always": -1} {
		t.Run(name, func(t *testing.T) {
			table := b.table(t)
			f := b.withIdentity(t, b.hfile(t, b.fs, b.dir, "f", rowsOf("a", 10)))
			_, err := b.Load(t.Context(), LoadRequest{Table: table, Files: []HFile{f}, FS: b.fs})
			testcheck.Must(t, err)
			req := LoadRequest{Table: table, Files: []HFile{f}, Unknown: []HFile{f}, FS: &shyFS{b.fs, fails}}
			if fails < 0 {
				req.Timestamp = testTime
			}
			report, err := b.Load(t.Context(), req)
			testcheck.Must(t, err)
			if report.Resolved != 1 {
				t.Errorf("report %+v", report)
			}
		})
	}
}

// TestAnotherWayInFindsStagedFiles checks that a file that an earlier attempt left in HBase's staging directory is found there when the load
// continues directly, and that the directory is removed.
func TestAnotherWayInFindsStagedFiles(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(c *Config) {
		c.RootDir, c.StageQuiet, c.SettleTimeout = "/hbase", 200*time.Millisecond, time.Minute
	})
	table := b.table(t)
	token, err := b.Prepare(t.Context(), table)
	testcheck.Must(t, err)
	f := b.withIdentity(t, b.hfile(t, b.fs, b.dir, "f", rowsOf("a", 10)))
	b.open(t, f)
	testcheck.Must(t, b.fs.MkdirAll(t.Context(), fsPath(token)+"/f", 0o777))
	testcheck.Must(t, b.fs.Rename(t.Context(), fsPath(f.Path), fsPath(token)+"/f/"+path.Base(f.Path)))
	report, err := b.Load(t.Context(), LoadRequest{Table: table, Files: []HFile{f}, Unknown: []HFile{f}, Token: token, FS: b.fs, Stage: StageDirect, Timestamp: testTime})
	testcheck.Must(t, err)
	if report.Loaded != 1 || report.Resolved != 0 || !report.Cleaned {
		t.Errorf("report %+v", report)
	}
	if _, err := b.fsAs(t, "hbase").Stat(t.Context(), fsPath(token)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the staging directory: %v", err)
	}
	b.checkDigest(t, table, rowsOf("a", 10), "f")
}

// TestLookThatFailsSeesNothing checks that a file is not regarded as loaded because its source cannot be queried for a while after the server's
// answer.
func TestLookThatFailsSeesNothing(t *testing.T) {
	t.Parallel()
	p := &puppet{answer: func(n int) string {
		if n == 1 {
			return "java.io.IOException"
		}
		return ""
	}}
	b := newBench(t, func(c *Config) { c.Dialer, c.RootDir, c.SettleTimeout = p.dial, "/hbase", time.Minute })
	table := b.table(t)
	f := b.hfile(t, b.fs, b.dir, "f", rowsOf("a", 10))
	blink := &blinkFS{FS: b.fs, name: fsPath(f.Path), after: &p.calls}
	var events []string
	report, err := b.Load(t.Context(), LoadRequest{Table: table, Files: []HFile{f}, FS: blink, Events: recorder(&events)})
	testcheck.Must(t, err)
	if report.Loaded != 1 || !blink.blinked {
		t.Errorf("events %q, report %+v", events, report)
	}
	b.checkDigest(t, table, rowsOf("a", 10), "f")
	b.checkOnce(t, table, "f", 1)
}

// blinkFS fails to return the status of a file a few times, after a call was made.
type blinkFS struct {
	FS
	name    string
	after   interface{ Load() int32 }
	looks   int
	blinked bool
}

func (b *blinkFS) Stat(ctx context.Context, name string) (fs.FileInfo, error) {
	if name == b.name && b.after.Load() > 0 && b.looks < 8 {
		b.looks++
		b.blinked = true
		return nil, errBlind
	}
	return b.FS.Stat(ctx, name)
}
