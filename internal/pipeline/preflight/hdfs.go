package preflight

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"time"

	"bulkload/internal/base/cleanup"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/hbase/staging"
	"bulkload/internal/model/fail"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/setting"
)

// stagingFacts holds the results of probing the directory for a job's files.
type stagingFacts struct {
	location hdfsio.Location
	err      error // why there is no location or no file system
	isNew    bool  // it was missing, and the probe has created it
	above    []ancestor
	aboveErr error
	step     string // the step of the probe that failed
	probeErr error
	owner    string // of the probe file
	// The file system's clock, from the probe file's modification time, and two
	// readings of this machine's clock around it.
	before, clock, after time.Time
}

// ancestor is a directory on the path to the files.
type ancestor struct {
	path         string
	owner, group string
	mode         fs.FileMode
	named        map[string]fs.FileMode // rights of users that its ACL names
}

// ownerOf returns the owner of a file, empty if it is not reported.
func ownerOf(info fs.FileInfo) string {
	owner, _ := hdfsio.Owner(info)
	return owner
}

// askHDFS finds the staging directory and tries a job's operations in it.
func (f *checkFacts) askHDFS(ctx context.Context) {
	s := &f.staging
	if s.location, s.err = staging.Base(ctx, f.env, f.options.Staging); s.err != nil {
		if fail.OtherSecurity(s.err) {
			f.security.nnErr = s.err
		}
		return
	}
	fsys, err := f.env.FS(s.location)
	if err != nil {
		s.err = err
		return
	}
	if !f.askNameNode(ctx) {
		return
	}
	s.probe(ctx, fsys, f.user, f.options.Probe)
	for p := s.location.Path; ; p = path.Dir(p) {
		info, err := fsys.Stat(ctx, p)
		switch {
		case err == nil:
			a := ancestor{path: p, mode: info.Mode()}
			a.owner, a.group = hdfsio.Owner(info)
			if h, ok := fsys.(*hdfsio.HDFS); ok {
				if a.named, err = h.UserRights(ctx, p, info); err != nil && s.aboveErr == nil {
					s.aboveErr = err
				}
			}
			s.above = append(s.above, a)
		case !errors.Is(err, fs.ErrNotExist) && s.aboveErr == nil:
			s.aboveErr = err
		}
		if p == "/" {
			break
		}
	}
}

// probe creates the directory as a job would, and in it a file that it renames and removes. If called names the
// directory, a killed probe may have left it, with a file that HDFS holds open for that probe.
func (s *stagingFacts) probe(ctx context.Context, fsys hdfsio.FS, user, called string) {
	do := func(step string, act func() error) bool {
		if s.probeErr == nil {
			if err := act(); err != nil {
				s.step, s.probeErr = step, err
			}
		}
		return s.probeErr == nil
	}
	l := s.location.Join(cmp.Or(called, staging.NewProbe()))
	dir := l.Path
	name, renamed := path.Join(dir, "file"), path.Join(dir, "renamed")
	do("make", func() (err error) {
		s.isNew, err = staging.MakeBase(ctx, fsys, s.location.Path, user)
		return err
	})
	if called != "" {
		do("remove a directory in", func() error { return (&staging.Dir{FS: fsys, Location: l}).Remove(ctx) })
	}
	// Another job's probe may have removed the parent directory meanwhile: then it is created again, with a mode that lets HBase traverse it.
	made := do("make a directory in", func() error { return fsys.MkdirAll(ctx, dir, 0o711) })
	do("write a file in", func() error {
		w, err := fsys.Create(ctx, name, hdfsio.CreateOptions{Perm: 0o600})
		if err != nil {
			return err
		}
		if _, err := w.Write([]byte{0}); err != nil {
			return errors.Join(err, w.Abort())
		}
		s.before = time.Now()
		if err := w.Finish(); err != nil {
			return errors.Join(err, w.Abort())
		}
		s.after = time.Now()
		return nil
	})
	do("look at a file in", func() error {
		info, err := fsys.Stat(ctx, name)
		if err == nil {
			s.owner, s.clock = ownerOf(info), info.ModTime()
		}
		return err
	})
	do("rename a file in", func() error { return fsys.Rename(ctx, name, renamed) })
	do("remove a file in", func() error { return fsys.Remove(ctx, renamed) })
	ctx, cancel := cleanup.Context(ctx)
	defer cancel()
	if made {
		err := fsys.RemoveAll(ctx, dir)
		do("remove a directory in", func() error { return err })
	}
	if s.isNew {
		_ = fsys.Remove(ctx, s.location.Path) // fails if a job uses it by now
	}
}

func checkProbe(s stagingFacts, user string) Check {
	const name = "staging"
	hint := setting.Textf("as an administrator: hdfs dfs -mkdir %s; hdfs dfs -chown %s %s; or name a directory that %s may write with %s", s.location.Path, user, s.location.Path, user, setting.Staging)
	switch {
	case fail.OtherSecurity(s.err):
		return bad(name, "see security", "user %s cannot log in", user)
	case s.err != nil:
		return bad(name, setting.Textf("set HADOOP_CONF_DIR to the directory with core-site.xml and hdfs-site.xml, or name a directory with %s", setting.Staging), "%s", oneLine{s.err})
	case is[*hdfsio.UnmetError](s.probeErr): // no NameNode was ever reached
		return bad(name, "check that HDFS is running, and that HADOOP_CONF_DIR is that of this cluster", "%s", oneLine{s.probeErr}).later(fail.HDFS)
	case fail.OtherSecurity(s.probeErr):
		return bad(name, "see security", "user %s cannot %s %s", user, s.step, s.location)
	case is[*staging.UnfitError](s.probeErr):
		return bad(name, setting.Textf("name a directory that %s may write with %s", user, setting.Staging), "%s", oneLine{s.probeErr})
	case errors.Is(s.probeErr, hdfsio.ErrQuota), errors.Is(s.probeErr, hdfsio.ErrNoSpace):
		return bad(name, setting.Textf("or name another directory with %s", setting.Staging), "user %s cannot %s %s: %s", user, s.step, s.location, oneLine{s.probeErr}).later(fail.HDFS)
	case hdfsio.Unavailable(s.probeErr), errors.Is(s.probeErr, hdfsio.ErrRewrite): // the file was created, so DataNodes fail
		return bad(name, setting.Textf("run it again; see that DataNodes run and have disks for the storage policy of %s (hdfs storagepolicies -getStoragePolicy)", s.location.Path), "user %s cannot %s %s: %s", user, s.step, s.location, oneLine{s.probeErr}).later(fail.HDFS)
	case is[*hdfsio.FeatureError](s.probeErr):
		return bad(name, setting.Textf("or name another directory with %s", setting.Staging), "user %s cannot %s %s: %s", user, s.step, s.location, oneLine{s.probeErr})
	case s.probeErr != nil:
		return bad(name, hint, "user %s cannot %s %s: %s", user, s.step, s.location, oneLine{s.probeErr})
	case s.owner != "" && s.owner != user:
		return bad(name, setting.Textf("use the same user as on HDFS, with %s or HADOOP_USER_NAME", setting.User), "files in %s will belong to %s, but HBase calls are made as %s", s.location, s.owner, user)
	}
	return good(name, "%s: a file was written, renamed and removed as %s", s.location, user)
}

// is reports whether an error wraps one of type E.
func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// checkAncestors reports whether HBase's user can access the files, which a direct load needs: else the server moves them into HBase's staging
// directory as the job's user (SecureBulkLoadManager.secureBulkLoadHFiles, 2.4 to 3.0). The members of a directory's group are unknown here.
func checkAncestors(s stagingFacts, b bulkFacts, direct bool) Check {
	const name = "staging path"
	if !direct || s.err != nil || len(s.above) == 0 {
		return Check{}
	}
	if s.aboveErr != nil {
		return bad(name, "give the user the right to pass (x) the directories above it", "%s", oneLine{s.aboveErr})
	}
	hbase := b.owner
	hbase = cmp.Or(hbase, "hbase")
	for _, a := range slices.Backward(s.above) {
		hint := fmt.Sprintf("chmod o+x %s, or give %s an ACL (hdfs dfs -setfacl -m user:%s:--x %s)", a.path, hbase, hbase, a.path)
		rights, named := a.named[hbase]
		switch bits := a.mode.Perm(); {
		case a.owner != hbase && named && rights&1 != 0:
		case a.owner != hbase && named:
			return bad(name, fmt.Sprintf("hdfs dfs -setfacl -m user:%s:--x %s", hbase, a.path), "the ACL of %s does not let %s pass (its entry or its mask)", a.path, hbase)
		case bits&0o001 != 0, a.owner == hbase && bits&0o100 != 0:
		case bits&0o010 != 0:
			return Doubtful(name, hint, "only %s and the group %s can pass %s (mode %04o): is %s in the group?", a.owner, a.group, a.path, bits, hbase)
		default:
			return bad(name, hint, "%s cannot pass %s (owner %s:%s, mode %04o)", hbase, a.path, a.owner, a.group, bits)
		}
	}
	return good(name, "%s can pass all directories down to %s", hbase, s.location.Path)
}

// checkNameservice reports whether HBase can take the files by renaming them:
// it copies files from another file system during the call.
func checkNameservice(ctx context.Context, conf *hdfsio.Conf, s stagingFacts, b bulkFacts) Check {
	const name = "nameservice"
	root, from := b.token, "HBase's staging directory"
	if root == "" {
		root, from = cluster.Root(conf), cluster.RootDirKey
	}
	if s.err != nil || root == "" {
		return Check{}
	}
	l, err := conf.Resolve(root)
	if err != nil {
		return bad(name, "HBase on HDFS is needed", "%s is %s: %s", from, root, oneLine{err})
	}
	if l.Local() {
		return bad(name, "HBase on HDFS is needed", "%s is %s, a local directory", from, root)
	}
	named := setting.Textf("%s hdfs://%s%s", setting.Staging, l.Authority, s.location.Path)
	switch {
	case !cluster.SameHDFS(ctx, l, s.location):
		return bad(name, named, "staging is on %s and HBase on %s: every file would be copied while its region is locked", s.location.Authority, l.Authority)
	case cluster.ByServer(ctx, s.location, l), b.token != "" && cluster.ByServer(ctx, l, s.location): // of its own address only HBase can be sure
		return bad(name, named, "staging is on %s and HBase on %s: this is the same HDFS, but HBase refuses files by another address", s.location.Authority, l.Authority)
	case b.token != "" && !cluster.SameAddress(l, s.location): // HBase compares names of hosts, and looks up those of IP addresses
		return Doubtful(name, named, "staging is on %s and HBase on %s: one server by two names, and HBase may refuse files by another than its own", s.location.Authority, l.Authority)
	}
	return good(name, "staging and HBase are both on %s", l.Authority)
}

// OnHBase returns an error if files on HDFS that are to be loaded in place are on another HDFS than HBase's, or under another address, such as
// a router's: HBase would copy each of them while its region is locked, and the remaining file would look as if it had not been loaded. The address of
// a NameNode in place of the nameservice is refused by HBase itself.
func OnHBase(ctx context.Context, conf *hdfsio.Conf, files hdfsio.Location) error {
	root := cluster.Root(conf)
	if root == "" {
		return nil
	}
	l, err := conf.Resolve(root)
	switch {
	case err != nil || l.Local(): // problems with the directory are reported elsewhere
		return nil
	case cluster.ByServer(ctx, files, l):
		return fail.Errorf(fail.Check, "%s is on HBase's HDFS, which HBase has as %s: it refuses files by another address; name them hdfs://%s%s", files, l.Authority, l.Authority, files.Path)
	case cluster.SameHDFS(ctx, l, files):
		return nil
	}
	return fail.Errorf(fail.Check, "%s is on %s, HBase on %s: it would copy each file while its region is locked; copy them to hdfs://%s, or name them so",
		files, files.Authority, l.Authority, l.Authority)
}

const (
	// smallSkew is the clock difference that is not reported.
	smallSkew = time.Second
	// maxSkew is the clock difference that HBase itself allows among its servers
	// (hbase.master.maxclockskew, 30 s).
	maxSkew = 30 * time.Second
)

// checkClock compares this machine's clock, from which a job takes its timestamp,
// with the cluster's. Cells with a future timestamp hide cells that are written
// until then; cells with a past timestamp are hidden by existing cells.
func checkClock(s stagingFacts, timestamp int64) Check {
	const name = "clock"
	if s.clock.IsZero() {
		return Check{}
	}
	if timestamp > 0 {
		if ahead := time.UnixMilli(timestamp).Sub(s.clock).Round(time.Second); ahead > smallSkew {
			return Doubtful(name, setting.Textf("give an earlier %s, unless this is intended", setting.Timestamp), "the job's timestamp is %s in the future: what is written until then stays hidden", ahead)
		}
		return good(name, "the job's timestamp is %s", time.UnixMilli(timestamp).UTC().Format(time.RFC3339))
	}
	ahead := time.Duration(0) // of this machine
	switch {
	case s.clock.Before(s.before):
		ahead = s.before.Sub(s.clock)
	case s.clock.After(s.after):
		ahead = s.after.Sub(s.clock)
	}
	hint := setting.Textf("set this machine's clock, or give %s", setting.Timestamp)
	shown := ahead.Abs().Round(100 * time.Millisecond)
	switch {
	case ahead > maxSkew:
		return bad(name, hint, "this machine's clock is %s ahead of the cluster's: what is written in that time would stay hidden by the job's cells", shown)
	case ahead > smallSkew:
		return Doubtful(name, hint, "this machine's clock is %s ahead of the cluster's: what is written in that time stays hidden by the job's cells", shown)
	case ahead < -smallSkew:
		return Doubtful(name, hint, "this machine's clock is %s behind the cluster's: the job's cells stay hidden by what was written in that time", shown)
	}
	return good(name, "this machine's clock and the cluster's agree within %s", max(shown, smallSkew))
}
