package checkpoint

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"

	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/fail"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/setting"
)

// preparedName matches the names that HBase gives the directories of loads: user, table, and 320 random bits in base 32
// (SecureBulkLoadManager.createStagingDir, 2.6).
var preparedName = regexp.MustCompile(`^(.+?)__(.+)__([0-9a-v]{40,64})$`)

// maxUnclaimed is the maximum number of listed directories below HBase's staging directory that no journal names.
const maxUnclaimed = 100

// unclaimed lists the old directories that HBase has made for loads of the caller, or of all users if the caller is HBase's user, and that no journal
// names: left by a killed check, by a job whose state was lost, or by another loader. They are kept, since a load may still use them. Only its owner
// and superusers can list HBase's staging directory; for other users unclaimed does nothing.
func (c *cleaner) unclaimed(ctx context.Context) error {
	root := c.env.Conf.Value(cluster.RootDirKey)
	if root == "" || c.options.Job != "" {
		return nil
	}
	user, err := c.env.User()
	if err != nil {
		return fail.With(fail.Config, err)
	}
	l, err := c.env.Conf.Resolve(root)
	if err != nil || l.Local() {
		return nil // nothing else in Clean needs HBase's directory
	}
	l = l.Join("staging")
	fsys, err := c.fs(l)
	if err != nil {
		return fail.With(fail.HDFS, fmt.Errorf("%s: %w", l, err))
	}
	var list []fs.FileInfo
	info, err := fsys.Stat(ctx, l.Path)
	if err == nil {
		list, err = fsys.ReadDir(ctx, l.Path)
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return nil
	}
	if err != nil {
		return fail.With(fail.HDFS, err)
	}
	list = slices.DeleteFunc(list, func(x fs.FileInfo) bool {
		name := preparedName.FindStringSubmatch(x.Name())
		return name == nil || name[1] != user && !ownedBy(info, user) || !x.IsDir() || c.now.Sub(x.ModTime()) < c.options.OlderThan || c.seen[l.Join(x.Name()).URI()]
	})
	slices.SortFunc(list, func(a, b fs.FileInfo) int {
		return cmp.Or(a.ModTime().Compare(b.ModTime()), cmp.Compare(a.Name(), b.Name()))
	})
	for i, x := range list[:min(len(list), maxUnclaimed)] {
		more := 0
		if i == maxUnclaimed-1 {
			more = len(list) - maxUnclaimed
		}
		if err := c.nameUnclaimed(ctx, fsys, l.Join(x.Name()), more); err != nil {
			return fail.With(fail.HDFS, err)
		}
	}
	return nil
}

// nameUnclaimed lists one directory, with the command that removes it unless it holds a file. more is the number of further directories.
func (c *cleaner) nameUnclaimed(ctx context.Context, fsys hdfsio.FS, l hdfsio.Location, more int) error {
	seen, err := lookAround(ctx, fsys, l.Path)
	if seen == nil || err == nil && c.now.Sub(seen.last) < c.options.OlderThan {
		return nil // its load is active, or has ended
	}
	if err != nil && !errors.Is(err, fs.ErrPermission) {
		return err
	}
	left := Leftover{Kind: "staging", Path: l.String(), Status: JobUnknown, Last: seen.last, Bytes: seen.bytes}
	because := "no journal here names it, and it is empty: hdfs dfs -rm -r " + l.Path + " as HBase's user, if no load of its user runs"
	switch {
	case err != nil:
		because = "no journal here names it, and what it holds cannot be read"
	case seen.bytes > 0:
		because = "no journal here names it, and it holds files: a load may have left the only copy here"
	}
	if more > 0 {
		because += "; and " + setting.Count(more, "directory") + " more"
	}
	left.Because = setting.Plain(because)
	c.result.Dirs = append(c.result.Dirs, left)
	return nil
}
