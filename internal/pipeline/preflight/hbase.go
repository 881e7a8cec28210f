package preflight

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"path"
	"slices"
	"strings"
	"sync"

	"bulkload/internal/base/cleanup"
	"bulkload/internal/base/workers"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/spec"
	"bulkload/pkg/loader"
	"bulkload/pkg/setting"
)

// bulkFacts holds the results of a load without files.
type bulkFacts struct {
	asked      bool
	token      string // the directory that HBase created and removed again
	prepareErr error
	cleanupErr error
	noteErr    error       // of [Options.Making] or Gone
	staging    fs.FileInfo // of HBase's staging directory, nil if it cannot be accessed
	stagingErr error
	owner      string // of that directory: the user that HBase acts as; empty if unknown
}

// askHBase queries the cluster for the table, then for everything else concurrently.
func (f *checkFacts) askHBase(ctx context.Context) {
	c := f.options.Cluster
	if c == nil {
		var err error
		if c, err = f.env.Dial(ctx); err != nil {
			f.dialErr = err
			return
		}
		defer c.Close()
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() {
		f.status, f.statusErr = c.Status(ctx)
		f.unknown = unknownHosts(ctx, f.status.Servers)
	})
	reading, cancel := context.WithCancel(ctx)
	defer cancel()
	read := make(chan struct{})
	wg.Go(func() {
		defer close(read)
		f.regions, f.regionsErr = c.Regions(reading, f.name)
	})
	if f.table, f.tableErr = c.Describe(ctx, f.name); f.tableErr != nil {
		cancel()
		return
	}
	wg.Go(func() { f.askBesides(ctx, c) })
	if f.table.State != loader.Enabled {
		cancel()
		f.quota, f.quotaErr = readSpaceQuota(ctx, c, f.name) // HBase disables a table by a quota, and does not enable it
		return                                               // its regions are on no server
	}
	// The regions are first: with a hole in the map all other queries would wait for its repair.
	if <-read; f.regionsErr != nil {
		return
	}
	wg.Go(func() { f.quota, f.quotaErr = readSpaceQuota(ctx, c, f.name) })
	if f.spec.Verify != "off" {
		wg.Go(func() { f.readErr = c.MayRead(ctx, f.name, f.families()...) })
	}
	if f.spec.Verify == "files" {
		wg.Go(func() { f.filesErr = f.askFiles(ctx) })
	}
	wg.Go(func() { f.readFilesErr = f.askReadFiles(ctx) })
	if f.spec.Replace || f.options.Snapshot {
		wg.Go(func() { f.adminErr = c.Lacks(ctx, f.name, loader.Admin) })
	}
	f.bulk.ask(ctx, f.env, c, f.name, f.options)
}

// families returns the job's families that exist in the table.
func (f *checkFacts) families() []string {
	return slices.DeleteFunc(f.spec.Families(), func(name string) bool { _, there := f.table.Family(name); return !there })
}

// ask has HBase create a directory for a load and remove it again: this tests
// the right to load, and HBase's own staging directory.
func (b *bulkFacts) ask(ctx context.Context, env *cluster.Env, c *loader.Cluster, table loader.TableName, o Options) {
	b.asked = true
	prepare := func() (string, error) {
		b.token, b.prepareErr = c.Prepare(ctx, table)
		return b.token, b.prepareErr
	}
	if o.Making == nil {
		_, _ = prepare()
	} else {
		b.noteErr = o.Making(table, prepare)
	}
	if b.prepareErr != nil {
		b.noteErr = nil // nothing was created
		return
	}
	if l, err := env.Conf.Resolve(b.token); err != nil {
		b.stagingErr = err
	} else if fsys, err := env.FS(l); err != nil {
		b.stagingErr = err
	} else if b.staging, b.stagingErr = fsys.Stat(ctx, path.Dir(l.Path)); b.stagingErr == nil {
		b.owner = ownerOf(b.staging)
	}
	ctx, cancel := cleanup.Context(ctx)
	defer cancel()
	if b.cleanupErr = c.Cleanup(ctx, table, b.token); b.cleanupErr == nil && o.Gone != nil {
		b.noteErr = errors.Join(b.noteErr, o.Gone(table, b.token))
	}
}

// checkDial describes why there is no connection to HBase.
func checkDial(err error) Check {
	const name = "hbase"
	if fail.KindOf(err) == fail.Load {
		return bad(name, "see that ZooKeeper and HBase are up, and that this machine reaches them", "%s", oneLine{err}).later(fail.Load)
	}
	return bad(name, setting.Textf("set HBASE_CONF_DIR to the directory with the cluster's hbase-site.xml, or give %s and %s", setting.Zookeeper, setting.Znode), "%s", oneLine{err})
}

func checkVersion(s loader.Status, err error) Check {
	const name = "version"
	major, _, _ := strings.Cut(s.Version, ".")
	switch {
	case fail.OtherSecurity(err):
		return bad(name, "see security", "the login at the master is refused")
	case err != nil:
		return bad(name, "check that a master is active", "the master does not answer: %s", oneLine{err})
	case len(s.Servers) == 0:
		return bad(name, "start the region servers", "no region server is alive (%d are known to be dead)", s.Dead)
	case major == "0" || major == "1":
		return bad(name, "HBase 2 is needed", "HBase %s has no bulk load call that this program supports", s.Version)
	case major != "2" && s.Version != "3.0.0-alpha-4": // which the tests of internal/test/versions run
		return Doubtful(name, "try it on a test table first", "HBase %s: region servers of this version were not tried", s.Version)
	}
	return good(name, "HBase %s, %s", s.Version, setting.Count(len(s.Servers), "region server"))
}

// unknownHosts returns the hosts of servers, given as host:port, that cannot be resolved.
func unknownHosts(ctx context.Context, servers []string) (unknown []string) {
	var hosts []string
	for _, server := range servers {
		host, _, err := net.SplitHostPort(server)
		if err == nil && !slices.Contains(hosts, host) {
			hosts = append(hosts, host)
		}
	}
	missing := make([]bool, len(hosts))
	_ = workers.Each(ctx, 16, len(hosts), func(ctx context.Context, i int) error {
		_, err := net.DefaultResolver.LookupHost(ctx, hosts[i])
		e, ok := errors.AsType[*net.DNSError](err)
		missing[i] = ok && e.IsNotFound
		return nil
	})
	for i, host := range hosts {
		if missing[i] {
			unknown = append(unknown, host)
		}
	}
	return unknown
}

// checkNames reports servers whose host names cannot be resolved.
func checkNames(unknown []string, servers int) Check {
	if len(unknown) == 0 {
		return Check{}
	}
	return bad("host names", "add it to DNS or to /etc/hosts of this machine, or run the job where it is known", "%s of %d: this machine cannot resolve the host name %s",
		setting.Count(len(unknown), "region server"), servers, strings.Join(unknown[:min(len(unknown), 3)], ", "))
}

func checkMissing(table loader.TableName, err error) Check {
	if errors.Is(err, loader.ErrTableNotFound) {
		return bad("table", fmt.Sprintf("bulkload table create %s makes it", table), "table %s does not exist", table)
	}
	if denied, ok := errors.AsType[*loader.DeniedError](err); ok {
		return bad("table", denied.Grant, "user %s needs the right CREATE on table %s", denied.User, table)
	}
	if fail.OtherSecurity(err) {
		return bad("table", "see security", "the login at HBase is refused")
	}
	if _, refused := errors.AsType[*loader.LoginError](err); refused {
		return bad("table", "see the log of that server", "%s", oneLine{err})
	}
	return bad("table", "check that HBase is up", "%s", oneLine{err})
}

func checkTable(t *loader.Table) Check {
	const name = "table"
	switch {
	case t.State != loader.Enabled:
		return bad(name, "enable it: hbase shell, enable '"+t.Name.String()+"'", "table %s is %s", t.Name, t.State)
	case t.ReadOnly:
		return bad(name, "alter it: READONLY => 'false'", "table %s is read-only", t.Name)
	}
	return good(name, "%s is ENABLED", t.Name)
}

// checkFamily checks that the family exists and that files can be written with
// its settings.
func checkFamily(t *loader.Table, wanted string, s spec.Job, zstdCodec string) Check {
	const name = "family"
	cf, ok := t.Family(wanted)
	if !ok {
		return bad(name, setting.Textf("name another with %s, or under cells", setting.Family), "table %s has no family %q (families: %s)", t.Name, wanted, strings.Join(t.FamilyNames(), ", "))
	}
	family, err := cluster.FamilySettings(cf)
	if err != nil {
		return bad(name, "alter the family, or use another", "family %s: %s", wanted, oneLine{err})
	}
	family.Zstd = cluster.ZstdFraming(zstdCodec)
	own, err := s.ApplyTo(family)
	family.Level = own.Level // tables do not have this setting
	switch {
	case err != nil:
		return bad(name, "correct the job's settings of the family", "%s", oneLine{err})
	case own.Overrides(family):
		return Doubtful(name, "leave compression, encoding, bloom and block_size out of the job to use the table's",
			"the job overrides the settings of family %s: %s, %s, bloom %s instead of %s, %s, %s", wanted,
			own.Compression, own.Encoding, own.Bloom, family.Compression, family.Encoding, family.Bloom)
	}
	return good(name, "%s: %s, %s, bloom %s", wanted, family.Compression, family.Encoding, family.Bloom)
}

// checkTracker reports the load mode for the table. In a load through a token's
// directory the server moves the files with the caller's rights, which only the
// tracker DEFAULT supports (SecureBulkLoadManager, 2.6.4).
func checkTracker(t *loader.Table, cf loader.Family, stage loader.Stage) Check {
	const name = "store-file tracker"
	tracker := t.FileTracker(cf)
	plain := strings.EqualFold(tracker, "DEFAULT")
	switch {
	case !plain && stage == loader.StageToken:
		return bad(name, setting.Textf("leave %s out, or give %s direct", setting.LoadMode, setting.LoadMode), "%s: a load through HBase's staging directory does not work with it", tracker)
	case plain && stage != loader.StageDirect:
		return good(name, "%s: files go through HBase's staging directory (secure)", tracker)
	}
	return good(name, "%s: files go straight into the regions (direct)", tracker)
}

// checkTTL checks for a timestamp so old that the cells expire at once.
func checkTTL(cf loader.Family, timestamp int64) Check {
	const name = "ttl"
	expired, ttl := cluster.Expired(cf, timestamp)
	if ttl == 0 {
		return Check{}
	}
	if expired {
		return bad(name, setting.Textf("give a later %s", setting.Timestamp), "cells of family %s live for %s and the job's timestamp is older: no reader would see a row", cf.Name, ttl)
	}
	return good(name, "cells of family %s live for %s from the job's timestamp", cf.Name, ttl)
}

// checkRoundTrip reports whether HBase allows the user to load.
func checkRoundTrip(b bulkFacts, user string) Check {
	const name = "right to load"
	var denied *loader.DeniedError
	switch {
	case !b.asked:
		return Check{}
	case errors.As(b.prepareErr, &denied):
		return bad(name, denied.Grant, "user %s needs the right CREATE or ADMIN on the table", denied.User)
	case loader.Unavailable(b.prepareErr):
		return bad(name, "run it again", "%s", oneLine{b.prepareErr}).later(fail.Load)
	case b.prepareErr != nil:
		return bad(name, fmt.Sprintf("grant %s the right CREATE or ADMIN on the table, and see that HBase's staging directory is there (mode 711)", user),
			"%s", oneLine{b.prepareErr})
	case b.cleanupErr != nil:
		return Doubtful(name, "see the region server's log; remove the directory when it stays", "HBase did not remove %s: %s", b.token, oneLine{b.cleanupErr})
	}
	return good(name, "HBase made and removed a directory for a load by %s", user)
}

// checkRead reports whether the user lacks the right to read the rows to verify. Other errors of a read are reported by the checks of
// regions and servers.
func checkRead(err error, table loader.TableName) Check {
	denied, ok := errors.AsType[*loader.DeniedError](err)
	if !ok {
		return Check{}
	}
	return bad("right to read", setting.Textf("%s, or give %s off", denied.Grant, setting.Verify), "user %s needs the right READ on table %s, which is verified", denied.User, table)
}

// checkAdmin reports whether the user lacks the right to take the job's snapshot.
func checkAdmin(err error, table loader.TableName) Check {
	denied, ok := errors.AsType[*loader.DeniedError](err)
	if !ok {
		return Check{}
	}
	return bad("right to take a snapshot", denied.Grant, "user %s needs the right ADMIN on table %s: the job takes a snapshot of it", denied.User, table)
}

// checkHBaseStaging checks the directory in which HBase creates the directories
// of loads. Other users must be able to traverse it, but not to list it.
func checkHBaseStaging(b bulkFacts) Check {
	const name = "hbase staging"
	if b.token == "" || fail.OtherSecurity(b.stagingErr) {
		return Check{}
	}
	dir := b.token[:strings.LastIndexByte(b.token, '/')]
	if b.stagingErr != nil {
		return Doubtful(name, "let others pass the directories above it (mode 711 or 755)", "%s cannot be read: %s", dir, oneLine{b.stagingErr})
	}
	mode := b.staging.Mode().Perm()
	switch {
	case mode&0o011 != 0o011:
		return bad(name, fmt.Sprintf("hdfs dfs -chmod 711 %s as %s; older HBase makes it so with fs.permissions.umask-mode 077: set 022 (HBASE-26985)", dir, b.owner), "%s has mode %04o: only its owner can pass", dir, mode)
	case mode&0o022 != 0:
		return Doubtful(name, "chmod 711 it as "+b.owner, "%s has mode %04o: others may write in it", dir, mode)
	}
	return good(name, "%s, mode %04o, owner %s", dir, mode, b.owner)
}
