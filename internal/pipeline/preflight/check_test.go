package preflight

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"bulkload/internal/hbase/cluster"
	"bulkload/internal/hbase/staging"
	"bulkload/internal/model/fail"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/loader"
	"bulkload/pkg/source"

	"google.golang.org/protobuf/encoding/protowire"
	"pgregory.net/rapid"
)

// A finding is the result of a check for given facts, with the expected one.
type finding struct {
	name     string
	got      Check
	severity Severity
	message  string
	hint     string
}

// TestCheckFindings tests the checks with facts that do not occur in test clusters.
func TestCheckFindings(t *testing.T) {
	table := loader.TableName{Namespace: "test", Qualifier: "t"}
	for _, c := range slices.Concat(clusterFindings(table), observerFindings(table), copyFindings(table), stagingFindings(), storeFindings(), clockFindings(), sizeFindings()) {
		t.Run(c.name, func(t *testing.T) {
			if c.got.Severity != c.severity || !strings.Contains(c.got.Message.String(), c.message) || !strings.Contains(c.got.Hint.String(), c.hint) || (c.hint == "") != (c.got.Hint.IsZero()) {
				t.Errorf("got %+v, want a %s with %q and the hint %q", c.got, c.severity, c.message, c.hint)
			}
		})
	}
}

// coprocessor returns a table with a coprocessor.
func coprocessor(class string) *loader.Table {
	return &loader.Table{Attributes: map[string]string{"coprocessor$1": "|" + class + "|805306366|"}}
}

// clusterFindings returns findings about regions, servers and trackers.
func clusterFindings(table loader.TableName) []finding {
	one := loader.Status{Version: "2.6.4", Servers: []string{"rs1:16020"}}
	region := loader.Region{Encoded: "abc", Server: "rs1:16020"}
	moved, closed := region, region
	moved.Server, closed.Server = "rs2:16020", ""
	return []finding{
		{"hole", checkRegions(nil, &loader.HoleError{Table: table, End: []byte("k1"), Start: []byte("k2")}, one), SeverityError, `one ends at "k1" and the next begins at "k2"`, "hbck2"},
		{"overlap", checkRegions(nil, &loader.HoleError{Table: table, End: []byte("k2"), Start: []byte("k1")}, one), SeverityError, "an overlap", "hbck2"},
		{"served", checkRegions([]loader.Region{region}, nil, one), SeverityOK, "all served", ""},
		{"on a dead server", checkRegions([]loader.Region{region, moved}, nil, one), SeverityWarning, "1 of 2 regions are not served", "waits"},
		{"on no server", checkRegions([]loader.Region{closed}, nil, one), SeverityWarning, "on no server", "waits"},
		{"no region server", checkVersion(loader.Status{Version: "2.6.4", Dead: 2}, nil), SeverityError, "no region server is alive", "start"},
		{"old HBase", checkVersion(loader.Status{Version: "1.4.14", Servers: one.Servers}, nil), SeverityError, "HBase 1.4.14", "HBase 2"},
		{"HBase 3 as tried", checkVersion(loader.Status{Version: "3.0.0-alpha-4", Servers: one.Servers}, nil), SeverityOK, "HBase 3.0.0-alpha-4, 1 region server", ""},
		{"new HBase", checkVersion(loader.Status{Version: "3.0.0-beta-1", Servers: one.Servers}, nil), SeverityWarning, "not tried", "try"},
		{"no master", checkVersion(loader.Status{}, errors.New("no HMaster is active")), SeverityError, "no HMaster", "master"},
		{"tracker", checkTracker(&loader.Table{}, loader.Family{}, loader.StageAuto), SeverityOK, "DEFAULT: files go through HBase's staging directory (secure)", ""},
		{"tracker, direct", checkTracker(&loader.Table{}, loader.Family{}, loader.StageDirect), SeverityOK, "(direct)", ""},
		{"tracker FILE", checkTracker(&loader.Table{}, loader.Family{Configuration: map[string]string{"hbase.store.file-tracker.impl": "FILE"}}, loader.StageAuto), SeverityOK, "FILE: files go straight into the regions (direct)", ""},
	}
}

// observerFindings returns findings about coprocessors and Phoenix.
func observerFindings(table loader.TableName) []finding {
	phoenix := func(simple string, families ...string) *loader.Table {
		t := coprocessor("org.apache.phoenix.hbase.index." + simple)
		t.Name = table
		for _, f := range families {
			t.Families = append(t.Families, loader.Family{Name: f})
		}
		return t
	}
	denied := &fs.PathError{Op: "stat", Path: "/hbase", Err: fs.ErrPermission}
	return []finding{
		{"index", checkCoprocessors(coprocessor("com.example.MyIndexer"), nil), SeverityWarning, "com.example.MyIndexer", "indexes"},
		{"other coprocessor", checkCoprocessors(coprocessor("com.example.Audit"), nil), SeverityOK, "com.example.Audit: put hooks do not run, bulk load hooks do", ""},
		{"observers of loads", checkCoprocessors(&loader.Table{}, []string{"AccessController", "MultiRowMutationEndpoint"}), SeverityOK, "of bulk loads, AccessController checks the right to load", ""},
		{"no coprocessor", checkCoprocessors(&loader.Table{}, []string{"MultiRowMutationEndpoint"}), SeverityOK, "", ""},
		{"phoenix, no coprocessor of its", checkPhoenix(coprocessor("com.example.Audit"), phoenixFacts{}, "refuse"), SeverityOK, "", ""},
		{"phoenix without indexes", checkPhoenix(phoenix("IndexRegionObserver"), phoenixFacts{}, "refuse"), SeverityWarning, "without indexes", "empty cell"},
		{"phoenix with indexes", checkPhoenix(phoenix("IndexRegionObserver"), phoenixFacts{indexes: []string{"I1", "I2"}}, "refuse"), SeverityError, "with indexes I1, I2: a bulk load does not update them", "`phoenix_indexes` ignore"},
		{"phoenix with indexes, ignored", checkPhoenix(phoenix("IndexRegionObserver"), phoenixFacts{indexes: []string{"I1"}}, "ignore"), SeverityWarning, "with indexes I1", "IndexTool"},
		{"phoenix, not known", checkPhoenix(phoenix("Indexer"), phoenixFacts{err: denied}, "refuse"), SeverityError, "perhaps indexes", "`phoenix_indexes`"},
		{"phoenix that has no indexer", checkPhoenix(phoenix("ScanRegionObserver"), phoenixFacts{err: denied}, "refuse"), SeverityWarning, "without indexes", "empty cell"},
		{"phoenix with a local index", checkPhoenix(phoenix("ScanRegionObserver", "0", "L#0"), phoenixFacts{}, "refuse"), SeverityError, "local indexes in family L#0", "CsvBulkLoadTool"},
		{"phoenix index", checkPhoenix(phoenix("GlobalIndexChecker"), phoenixFacts{}, "refuse"), SeverityError, "the table is an index", "`phoenix_indexes`"},
		{"phoenix view with an index", checkPhoenix(phoenix("IndexRegionObserver"), phoenixFacts{views: true}, "refuse"), SeverityError, "_IDX_t", "`phoenix_indexes`"},
	}
}

// copyFindings returns findings about other copies of a table's rows: peers, MOB files, backups.
func copyFindings(table loader.TableName) []finding {
	scope1 := loader.Family{Name: "f", Attributes: map[string]string{"REPLICATION_SCOPE": "1"}}
	peers := []loader.Peer{peerOfAll("a", true), peerOfAll("b", false)}
	denied := &fs.PathError{Op: "stat", Path: "/hbase", Err: fs.ErrPermission}
	return []finding{
		{"not replicated", checkReplication(table, loader.Family{}, besidesFacts{}, "yes"), SeverityOK, "", ""},
		{"replicated, no peer", checkReplication(table, scope1, besidesFacts{}, "yes"), SeverityOK, "no peer takes it", ""},
		{"replicated to a peer", checkReplication(table, scope1, besidesFacts{peers: peers}, "yes"), SeverityWarning, "peers a, b (disabled) never get the rows", "`replicate` no"},
		{"replicated, peers not seen", checkReplication(table, scope1, besidesFacts{peersErr: denied}, "yes"), SeverityWarning, "cannot be seen", "hbase.replication.bulkload.enabled"},
		{"replicated, not this load", checkReplication(table, scope1, besidesFacts{peers: peers}, "no"), SeverityOK, "leave it out", ""},
		{"loads are replicated", checkReplication(table, scope1, besidesFacts{peers: peers, loaded: []string{"ReplicationObserver"}}, "yes"), SeverityOK, "get the files", ""},
		{"mob", checkMOB(table, loader.Family{Name: "f", Attributes: map[string]string{"IS_MOB": "true", "MOB_THRESHOLD": "1000"}}), SeverityWarning, "more than 1000 bytes stay in ordinary files until the first major compaction", "major_compact 'test:t'"},
		{"no backup", checkBackup(&loader.Table{}, besidesFacts{}), SeverityOK, "", ""},
		{"backup without observer", checkBackup(&loader.Table{}, besidesFacts{backup: true}), SeverityWarning, "incremental backups will silently lack this load", "full backup"},
		{"backup with observer", checkBackup(&loader.Table{}, besidesFacts{backup: true, loaded: []string{"BackupObserver"}}), SeverityOK, "the next incremental backup has them", ""},
		{"backup with the table's observer", checkBackup(coprocessor("org.apache.hadoop.hbase.backup.BackupObserver"), besidesFacts{backup: true}), SeverityOK, "has them", ""},
	}
}

// storeFindings returns findings about a family's store settings.
func storeFindings() []finding {
	site := func(key string) string { return map[string]string{"hbase.hstore.blockingStoreFiles": "5"}[key] }
	none := func(string) string { return "" }
	engine := func(class string) loader.Family {
		return loader.Family{Name: "f", Configuration: map[string]string{"hbase.hstore.engine.class": "org.apache.hadoop.hbase.regionserver." + class}}
	}
	table := &loader.Table{Name: loader.TableName{Namespace: "default", Qualifier: "t"}}
	regions := []loader.Region{{Name: []byte("t,,1.a."), Encoded: "a"}, {Name: []byte("t,b,1.b."), Encoded: "b"}}
	files := func(a, b int) loader.Status {
		return loader.Status{StoreFiles: map[string]int{"t,,1.a.": a, "t,b,1.b.": b}}
	}
	return []finding{
		{"usual engine", checkEngine(table, loader.Family{}, none, false), SeverityOK, "", ""},
		{"stripes", checkEngine(table, engine("StripeStoreEngine"), none, false), SeverityOK, "family f has StripeStoreEngine", ""},
		{"tiers by value", checkEngine(table, engine("CustomTieredStoreEngine"), none, true), SeverityWarning, "before HBase 2.6.8", "run major_compact 't' twice"},
		{"tiers by date", checkEngine(table, engine("DateTieredStoreEngine"), none, false), SeverityWarning, "one timestamp", "`timestamp`"},
		{"tiers by date, with times", checkEngine(table, engine("DateTieredStoreEngine"), none, true), SeverityOK, "DateTieredStoreEngine", ""},
		{"no policy", checkStorage(table, loader.Family{}, none), SeverityOK, "", ""},
		{"policy", checkStorage(table, loader.Family{Name: "f", Attributes: map[string]string{"STORAGE_POLICY": "ONE_SSD"}}, none), SeverityOK, "family f has ONE_SSD", ""},
		{"few files", checkStoreFiles(table, loader.Family{}, none, regions, files(14, 3)), SeverityOK, "", ""},
		{"many files", checkStoreFiles(table, loader.Family{}, none, regions, files(15, 3)), SeverityWarning, "1 region of 2 have 15 store files or more in a store (a has 15): with 16", "compact 't'"},
		{"many of the site", checkStoreFiles(table, loader.Family{}, site, regions, files(4, 7)), SeverityWarning, "2 regions of 2 have 4 store files or more in a store (b has 7): with 5", "compact 't'"},
	}
}

// TestGrantsOfFiles checks that the rights to read HBase's files are among those of a job that is verified by them, and ADMIN among those of one that takes a
// snapshot; and how unreadable files are reported.
func TestGrantsOfFiles(t *testing.T) {
	env := &cluster.Env{Conf: &hdfsio.Conf{}}
	env.Conf.Set("hbase.rootdir", "hdfs://nn/hbase", "test")
	f := &checkFacts{env: env, user: "tina", name: loader.TableName{Namespace: "ns", Qualifier: "t"}}
	grants := func() string { return strings.Join(f.grants(), "\n") }
	if got := grants(); strings.Contains(got, "/hbase") || !strings.Contains(got, "grant 'tina', 'RC'") {
		t.Errorf("other jobs: %s", got)
	}
	f.spec.Verify, f.options.Snapshot = "files", true
	if got := grants(); !strings.Contains(got, "-R -m user:tina:r-x,default:user:tina:r-x /hbase/data\n") || !strings.Contains(got, "-setfacl -m user:tina:--x /hbase\n") ||
		!strings.Contains(got, "grant 'tina', 'RCA'") {
		t.Errorf("by files, with a snapshot: %s", got)
	}
	f.spec.Verify, f.options.Snapshot, f.spec.Replace, f.spec.Inputs = "full", false, true, []string{"hbase:src", "/in.csv"}
	if got := grants(); !strings.Contains(got, "r-x /hbase/archive\nhdfs dfs -setfacl -R -m user:tina:r-x,default:user:tina:r-x /hbase/.hbase-snapshot") || !strings.Contains(got, "grant 'tina', 'RCA', 'ns:t'\ngrant 'tina', 'RA', 'src'") ||
		strings.Contains(got, "not complete") || f.unasked() != nil {
		t.Errorf("replacing, from a table: %s", got)
	}
	env.Conf.Set("hbase.security.authentication", "kerberos", "test")
	if got := grants(); !strings.Contains(got, "/hbase/.hbase-snapshot\n# HBase's master takes these rights away when it starts, unless its hbase-site.xml has hbase.rootdir.perms 750") {
		t.Errorf("with Kerberos: %s", got)
	}
	f.spec.Replace, f.spec.ReadBy = false, "scan"
	if got := grants(); strings.Contains(got, "/hbase") || !strings.Contains(got, "grant 'tina', 'RC', 'src'") {
		t.Errorf("from a table by scans: %s", got)
	}
	f.spec.Inputs = []string{"snapshot:s"}
	if f.spec.ReadBy = ""; !strings.Contains(grants(), "/hbase/.hbase-snapshot") || strings.Contains(grants(), "'s'") {
		t.Errorf("from a snapshot: %s", grants())
	}
	f.dialErr = fail.With(fail.Load, errors.New("no ZooKeeper"))
	if err := f.unasked(); fail.KindOf(err) != fail.Check || !strings.Contains(fmt.Sprint(err), "not complete: no ZooKeeper") || !strings.HasPrefix(grants(), "# not complete: HBase or HDFS could not be asked\n") {
		t.Errorf("without HBase: %v, %s", err, grants())
	}
	denied := checkFiles(fail.With(fail.Check, errors.New("tina may not list /hbase/data")), "tina", "/hbase")
	if denied.Severity != SeverityError || denied.Passing != fail.Unexpected || !strings.Contains(denied.Hint.String(), "r-x /hbase/data; hdfs dfs -setfacl -R -m user:tina:r-x,default:user:tina:r-x /hbase/archive; or") {
		t.Errorf("no right: %+v", denied)
	}
	if away := checkFiles(fail.With(fail.Load, errors.New("no answer")), "tina", "/hbase"); away.Passing != fail.Load {
		t.Errorf("no answer: %+v", away)
	}
	if c := checkReadFiles(errors.New("tina may not"), "tina", "/hbase"); c.Severity != SeverityError || !strings.Contains(c.Hint.String(), "r-x /hbase/archive; hdfs dfs -setfacl -R -m user:tina:r-x,default:user:tina:r-x /hbase/.hbase-snapshot") {
		t.Errorf("a snapshot: %+v", c)
	}
	if c := checkFiles(nil, "tina", "/hbase"); c.Name != "" || checkReadFiles(nil, "tina", "/hbase").Name != "" {
		t.Errorf("readable: %+v", c)
	}
}

// stagingFindings returns findings about staging directories: HBase's own and the job's.
func stagingFindings() []finding {
	above := func(mode fs.FileMode, owner string) stagingFacts {
		return stagingFacts{above: []ancestor{{"/a/b", "tina", "g", fs.ModeDir | 0o711, nil}, {"/a", owner, "g", fs.ModeDir | mode, nil}, {"/", "hbase", "g", fs.ModeDir | 0o755, nil}}}
	}
	named := func(s stagingFacts, rights fs.FileMode) stagingFacts {
		s.above[1].named = map[string]fs.FileMode{"hbase": rights}
		return s
	}
	denied := &fs.PathError{Op: "stat", Path: "/hbase", Err: fs.ErrPermission}
	return []finding{
		{"staging 700", checkHBaseStaging(bulkFacts{token: "hdfs://nn/hbase/staging/x", staging: modeInfo(0o700), owner: "hbase"}), SeverityError, "hdfs://nn/hbase/staging has mode 0700", "chmod 711"},
		{"staging 777", checkHBaseStaging(bulkFacts{token: "hdfs://nn/hbase/staging/x", staging: modeInfo(0o777), owner: "hbase"}), SeverityWarning, "others may write", "chmod 711"},
		{"staging not seen", checkHBaseStaging(bulkFacts{token: "hdfs://nn/hbase/staging/x", stagingErr: denied}), SeverityWarning, "permission denied", "pass"},
		{"no right", checkRoundTrip(bulkFacts{asked: true, prepareErr: &loader.DeniedError{User: "tina", Right: "CREATE", Grant: "grant 'tina', 'RWC', 't'"}}, "tina"), SeverityError, "user tina needs the right CREATE", "grant 'tina', 'RWC', 't'"},
		{"not cleaned", checkRoundTrip(bulkFacts{asked: true, token: "/s/t", cleanupErr: errors.New("gone")}, "tina"), SeverityWarning, "did not remove /s/t", "log"},
		{"path closed to HBase, which does not take it", checkAncestors(above(0o700, "root"), bulkFacts{}, false), SeverityOK, "", ""},
		{"path open", checkAncestors(above(0o711, "root"), bulkFacts{}, true), SeverityOK, "hbase can pass", ""},
		{"path of hbase", checkAncestors(above(0o700, "hbase"), bulkFacts{owner: "hbase"}, true), SeverityOK, "hbase can pass", ""},
		{"path of a group", checkAncestors(above(0o710, "root"), bulkFacts{owner: "hb"}, true), SeverityWarning, "only root and the group g can pass /a", "user:hb:--x"},
		{"path by an ACL", checkAncestors(named(above(0o700, "root"), 1), bulkFacts{}, true), SeverityOK, "hbase can pass", ""},
		{"path masked", checkAncestors(named(above(0o711, "root"), 0), bulkFacts{}, true), SeverityError, "the ACL of /a does not let hbase pass", "hdfs dfs -setfacl -m user:hbase:--x /a"},
		{"path closed", checkAncestors(above(0o700, "root"), bulkFacts{}, true), SeverityError, "hbase cannot pass /a (owner root:g, mode 0700)", "chmod o+x /a"},
		{"path not seen", checkAncestors(stagingFacts{above: []ancestor{{}}, aboveErr: denied}, bulkFacts{}, true), SeverityError, "permission denied", "pass"},
		{"of others", checkProbe(stagingFacts{step: "make", probeErr: &staging.UnfitError{Err: errors.New("/b belongs to eve")}}, "tina"), SeverityError, "/b belongs to eve", "name a directory that tina may write"},
		{"quota", checkProbe(stagingFacts{step: "make", probeErr: &fs.PathError{Op: "mkdir", Path: "/b", Err: hdfsio.ErrQuota}}, "tina"), SeverityError, "mkdir /b: quota exceeded", "another directory"},
		{"a DataNode dies", checkProbe(stagingFacts{step: "write a file in", probeErr: &hdfsio.RewriteError{Path: "/b/file", Err: errors.New("it refuses with status 1")}}, "tina"), SeverityError, "it refuses with status 1", "run it again"},
		{"HDFS is full", checkProbe(stagingFacts{step: "write a file in", probeErr: &fs.PathError{Op: "write", Path: "/b/file", Err: hdfsio.ErrNoSpace}}, "tina"), SeverityError, "write /b/file: no space", "or name another directory"},
		{"erasure coded", checkProbe(stagingFacts{step: "write a file in", probeErr: &hdfsio.FeatureError{Op: "create", Path: "/b/file", Feature: "erasure coded (XOR)", Advice: "give it replicas"}}, "tina"), SeverityError, "which is not supported: give it replicas", "or name another directory"},
		{"HDFS in safe mode", checkRoundTrip(bulkFacts{asked: true, prepareErr: &loader.RemoteError{Class: "org.apache.hadoop.hdfs.server.namenode.SafeModeException", Message: "Name node is in safe mode."}}, "tina"), SeverityError, "is in safe mode", "run it again"},
		{"owner differs", checkProbe(stagingFacts{owner: "svc"}, "tina"), SeverityError, "will belong to svc, but HBase calls are made as tina", "`user`"},
	}
}

// clockFindings returns findings about the clocks of the machine and of HDFS.
func clockFindings() []finding {
	now := time.Now()
	clock := func(ahead time.Duration) stagingFacts {
		return stagingFacts{before: now, clock: now.Add(-ahead), after: now.Add(time.Millisecond)}
	}
	return []finding{
		{"clock equal", checkClock(clock(0), 0), SeverityOK, "agree", ""},
		{"clock a little ahead", checkClock(clock(5*time.Second), 0), SeverityWarning, "5s ahead", "`timestamp`"},
		{"clock far ahead", checkClock(clock(5*time.Minute), 0), SeverityError, "5m0s ahead", "`timestamp`"},
		{"clock behind", checkClock(clock(-5*time.Minute), 0), SeverityWarning, "5m0s behind", "`timestamp`"},
		{"clock does not matter", checkClock(clock(5*time.Minute), now.Add(-time.Hour).UnixMilli()), SeverityOK, "the job's timestamp", ""},
	}
}

// sizeFindings returns findings about the space for the rows: regions, quotas, disk and open files.
func sizeFindings() []finding {
	gib := int64(1 << 30)
	return []finding{
		{"small regions", checkRegionSize(10, inputFacts{text: 50 * gib}, 0, ""), SeverityOK, "5.0 GiB of text for each of 10 regions, which split at 10.0 GiB", ""},
		{"large regions", checkRegionSize(1, inputFacts{text: 50 * gib}, 0, ""), SeverityWarning, "50.0 GiB", "split points"},
		{"large by the configuration", checkRegionSize(10, inputFacts{text: 50 * gib}, 0, "1073741824"), SeverityWarning, "split at 1.0 GiB", "MAX_FILESIZE"},
		{"large by the table", checkRegionSize(10, inputFacts{text: 50 * gib}, 2*gib, "107374182400"), SeverityWarning, "split at 2.0 GiB", "MAX_FILESIZE"},
		{"no quota", checkQuota(spaceQuota{}, nil, inputFacts{}), SeverityOK, "", ""},
		{"quota not seen", checkQuota(spaceQuota{}, errors.New("denied"), inputFacts{}), SeverityOK, "cannot be seen", ""},
		{"quota used up", checkQuota(spaceQuota{of: "table t", limit: gib, used: gib}, nil, inputFacts{}), SeverityError, "table t is used up: 1.0 GiB of 1.0 GiB", "raise"},
		{"quota violated", checkQuota(spaceQuota{limit: gib, violated: true}, nil, inputFacts{}), SeverityError, "used up", "raise"},
		{"quota tight", checkQuota(spaceQuota{of: "namespace n", limit: gib, used: gib / 2}, nil, inputFacts{text: gib}), SeverityWarning, "leaves 512.0 MiB", "raise"},
		{"quota wide", checkQuota(spaceQuota{limit: 4 * gib}, nil, inputFacts{text: gib}), SeverityOK, "leaves 4.0 GiB", ""},
		{"spill fits in memory", checkSpill(inputFacts{text: 1 << 20}, machineFacts{dir: "/s"}, 0), SeverityOK, "not needed", ""},
		{"spill has room", checkSpill(inputFacts{text: 10 * gib}, machineFacts{dir: "/s", free: 8 * gib}, 0), SeverityOK, "8.0 GiB free", ""},
		{"spill is tight", checkSpill(inputFacts{text: 10 * gib}, machineFacts{dir: "/s", free: 5 * gib}, 0), SeverityWarning, "may take 7.0 GiB", "`spill_dir`"},
		{"spill has no room", checkSpill(inputFacts{text: 10 * gib}, machineFacts{dir: "/s", free: gib}, 0), SeverityError, "takes about 7.0 GiB", "`spill_dir`"},
		{"files enough", checkOpenFiles(inputFacts{text: 10 * gib}, machineFacts{files: 1024}, build.WorkOptions{Workers: 2}), SeverityOK, "1024", ""},
		{"files few", checkOpenFiles(inputFacts{text: 200 * gib}, machineFacts{files: 1024}, build.WorkOptions{Workers: 2, Memory: 512 << 20}), SeverityWarning, "the limit of open files is 1024", "ulimit -n 4096"},
		{"files too few", checkOpenFiles(inputFacts{text: 100 * gib}, machineFacts{files: 64}, build.WorkOptions{Workers: 2}), SeverityError, "the limit of open files is 64", "LimitNOFILE"},
		{"no files", checkInputs(inputFacts{given: true}), SeverityError, "the inputs are empty", "path"},
		{"input that is missing", checkInputs(inputFacts{given: true, err: fs.ErrNotExist}), SeverityError, "not exist", "check the path"},
		{"input out of reach", checkInputs(inputFacts{given: true, err: &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}}), SeverityError, "refused", "see that it is up"},
		{"a login that a server refuses", checkMissing(loader.TableName{Qualifier: "t"}, fmt.Errorf("scan: %w", &loader.LoginError{Err: errors.New("GSS initiate failed")})), SeverityError, "GSS initiate failed", "the log of that server"},
		{"HBase unknown", checkDial(fail.Errorf(fail.Config, "unknown")), SeverityError, "unknown", "set HBASE_CONF_DIR"},
		{"HBase out of reach", checkDial(fail.Errorf(fail.Load, "refused")), SeverityError, "refused", "see that ZooKeeper and HBase are up"},
		{"no files, allowed", checkInputs(inputFacts{given: true, allowEmpty: true}), SeverityWarning, "the inputs are empty", "path"},
	}
}

// peerOfAll returns a peer that replicates all tables.
func peerOfAll(id string, enabled bool) loader.Peer {
	return loader.Peer{ID: id, Enabled: enabled, All: true}
}

// TestLinks checks that rows of links in SYSTEM.CATALOG name a table's indexes.
func TestLinks(t *testing.T) {
	for _, c := range []struct {
		table  loader.TableName
		prefix string
	}{
		{loader.TableName{Namespace: "default", Qualifier: "T"}, "\x00\x00T\x00\x00"},
		{loader.TableName{Namespace: "default", Qualifier: "S.T.U"}, "\x00S\x00T.U\x00\x00"},
		{loader.TableName{Namespace: "S", Qualifier: "T"}, "\x00S\x00T\x00\x00"},
	} {
		if got := catalogPrefix(c.table); string(got) != c.prefix {
			t.Errorf("%s: %q, want %q", c.table, got, c.prefix)
		}
	}
	prefix := catalogPrefix(loader.TableName{Namespace: "S", Qualifier: "T"})
	for _, c := range []struct {
		link []byte
		ok   bool
	}{{[]byte{1}, true}, {[]byte{0x81}, true}, {[]byte{2}, false}, {nil, false}, {[]byte{0, 0, 0, 1}, false}} {
		row := loader.Row{Key: append(bytes.Clone(prefix), "I"...), Cells: []loader.Cell{{Family: []byte("0"), Qualifier: []byte("LINK_TYPE"), Value: c.link}}}
		if name, ok := indexOf(row, len(prefix)); ok != c.ok || ok && name != "I" {
			t.Errorf("link %x: %q, %v", c.link, name, ok)
		}
	}
}

// modeInfo is a directory with a mode.
type modeInfo fs.FileMode

func (m modeInfo) Name() string       { return "staging" }
func (m modeInfo) Size() int64        { return 0 }
func (m modeInfo) Mode() fs.FileMode  { return fs.ModeDir | fs.FileMode(m) }
func (m modeInfo) ModTime() time.Time { return time.Time{} }
func (m modeInfo) IsDir() bool        { return true }
func (m modeInfo) Sys() any           { return nil }

// TestSpaceQuota reads rows of the quota table as HBase writes them.
func TestSpaceQuota(t *testing.T) {
	message := func(number protowire.Number, body []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), body)
	}
	number := func(number protowire.Number, v uint64) []byte {
		return protowire.AppendVarint(protowire.AppendTag(nil, number, protowire.VarintType), v)
	}
	settings := append([]byte("PBUF"), append(number(1, 0), message(3, append(number(1, 1000), number(2, 4)...))...)...)
	report := bytes.Join([][]byte{message(1, append(number(1, 4), number(2, 1)...)), number(2, 700), number(3, 1000)}, nil)
	row := loader.Row{Cells: []loader.Cell{
		{Family: []byte("q"), Qualifier: []byte("s"), Value: settings}, {Family: []byte("u"), Qualifier: []byte("p"), Value: report},
	}}
	if got, want := parseSpaceQuota(row), (spaceQuota{limit: 1000, used: 700, reported: 1000, violated: true}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	// Rows of HBase 2.6.4, of a table with a quota of 5,000,000 bytes.
	observed := loader.Row{Cells: []loader.Cell{
		{Family: []byte("q"), Qualifier: []byte("s"), Value: unhex(t, "504255461a0708c096b1021004")},
		{Family: []byte("u"), Qualifier: []byte("p"), Value: unhex(t, "0a021000109187201880d293ad03")},
	}}
	if got, want := parseSpaceQuota(observed), (spaceQuota{limit: 5_000_000, used: 525_201, reported: 900_000_000}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	testcheck.Check(t, func(rt *rapid.T) { // arbitrary values must do no harm
		v := rapid.SliceOf(rapid.Byte()).Draw(rt, "value")
		for _, cell := range row.Cells {
			cell.Value = v
			parseSpaceQuota(loader.Row{Cells: []loader.Cell{cell}})
		}
	})
}

// TestTightestQuota finds the quota that a report in a table's row is of.
func TestTightestQuota(t *testing.T) {
	table := loader.TableName{Namespace: "n", Qualifier: "q"}
	for name, c := range map[string]struct {
		own, shared spaceQuota
		of          string
		violated    bool
	}{
		"none":                        {},
		"the table's":                 {own: spaceQuota{limit: 10, used: 20, reported: 10, violated: true}, of: "table n:q", violated: true},
		"the table's before a change": {own: spaceQuota{limit: 10, used: 20, reported: 90}, of: "table n:q"},
		"the namespace's":             {own: spaceQuota{used: 20, reported: 10, violated: true}, shared: spaceQuota{limit: 10}, of: "namespace n", violated: true},
		"the namespace's, of both":    {own: spaceQuota{limit: 90, used: 20, reported: 10, violated: true}, shared: spaceQuota{limit: 10}, of: "namespace n", violated: true},
		"the table's, of both":        {own: spaceQuota{limit: 10, used: 20, reported: 10, violated: true}, shared: spaceQuota{limit: 90}, of: "table n:q", violated: true},
		"not the removed namespace's": {own: spaceQuota{used: 20, reported: 10, violated: true}},
	} {
		if q := tightestQuota(table, c.own, c.shared); q.violated != c.violated || q.limit > 0 && q.of != c.of {
			t.Errorf("%s: %+v", name, q)
		}
	}
}

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestWalkInput finds the files that a job would read.
func TestWalkInput(t *testing.T) {
	m := hdfsio.NewMemory()
	for _, name := range []string{"/in/2026/a.csv", "/in/2026/b.csv.gz", "/in/2026/_SUCCESS", "/in/2026/.x", "/in/2027/sub/c.parquet"} {
		if err := m.MkdirAll(t.Context(), name[:strings.LastIndexByte(name, '/')], 0o755); err != nil {
			t.Fatal(err)
		}
		w, err := m.Create(t.Context(), name, hdfsio.CreateOptions{})
		if err == nil {
			_, err = w.Write([]byte("x"))
		}
		if err := errors.Join(err, w.Finish()); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ input, want string }{
		{"/in/2026/a.csv", "/in/2026/a.csv"},
		{"/in/2026", "/in/2026/a.csv /in/2026/b.csv.gz"},
		{"/in", "/in/2026/a.csv /in/2026/b.csv.gz /in/2027/sub/c.parquet"},
		{"/in/*/*.csv", "/in/2026/a.csv"},
		{"/in/202[67]", "/in/2026/a.csv /in/2026/b.csv.gz /in/2027/sub/c.parquet"},
		{"/in/2026/_*", "/in/2026/_SUCCESS"},
		{"/*/2027/sub/c.parquet", "/in/2027/sub/c.parquet"},
		{"/in/none*", "error"},
		{"/in/none", "error"},
	} {
		var got []string
		files, err := source.List(t.Context(), func(name string) (source.FS, string, error) { return m, name, nil }, []string{c.input}, source.Options{})
		for _, f := range files {
			got = append(got, f.Name)
			if err := readable(t.Context(), m, f.Name); err != nil {
				t.Error(err)
			}
		}
		if err != nil {
			got = []string{"error"}
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%s: %s (%v), want %s", c.input, s, err, c.want)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", c.input, err)
		}
	}
}

// TestCheckJSON parses a check from the report that it was formatted into.
func TestCheckJSON(t *testing.T) {
	for _, want := range []Check{good("a", "found"), Doubtful("b", "do it", "found %d", 2), bad("c", "do it", "not found")} {
		text, err := json.Marshal(want)
		var got Check
		if err == nil {
			err = json.Unmarshal(text, &got)
		}
		if err != nil || got.Severity != want.Severity || got.Message.String() != want.Message.String() || got.Hint.String() != want.Hint.String() {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	if err := new(Severity).UnmarshalText([]byte("grave")); err == nil {
		t.Error("a severity that is none")
	}
}

// TestPassingErrors checks that a job is run again if all errors may pass, and only then.
func TestPassingErrors(t *testing.T) {
	full, gone, wrong := bad("staging", "", "full").later(fail.HDFS), bad("right to load", "", "gone").later(fail.Load), bad("key", "", "wrong")
	for _, c := range []struct {
		checks []Check
		want   fail.Kind
	}{
		{[]Check{full}, fail.HDFS}, {[]Check{good("key", "")}, fail.Unexpected}, {[]Check{good("key", ""), gone, full}, fail.Load},
		{[]Check{full, wrong}, fail.Check}, {[]Check{wrong, gone}, fail.Check},
	} {
		r := &Report{Checks: c.checks}
		if err := r.Err(); fail.KindOf(err) != c.want || (err == nil) != (c.want == fail.Unexpected) {
			t.Errorf("%+v: kind %d of %v, want %d", c.checks, fail.KindOf(err), err, c.want)
		}
	}
}
