package loader

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"bulkload/internal/hadoop/hbaserpc"
	"bulkload/pkg/hdfsio"
)

// causes looks for reasons why a server refused files that are at their sources, in an unchanged region. With a staging directory the
// answer itself has no reason: exceptions of SecureBulkLoadManager are logged only (RSRpcServices.bulkLoadHFile, 2.6).
func (l *load) causes(ctx context.Context, g group) []string {
	var found []string
	table, err := l.cluster.Describe(ctx, l.req.Table)
	switch {
	case err != nil:
		found = append(found, err.Error())
	case table.State != Enabled:
		found = append(found, "the table is "+table.State.String()+" now")
	case table.ReadOnly:
		found = append(found, "the table is read-only now")
	}
	families, seen := map[string]bool{}, map[string]bool{}
	actor := l.actor(ctx)
	for _, f := range g.files {
		if table != nil && !families[f.Family] {
			families[f.Family] = true
			family, ok := table.Family(f.Family)
			switch codec := family.Compression; {
			case !ok:
				found = append(found, fmt.Sprintf("the table has no family %s now", f.Family))
			case codec != defaultCompression && codec != "GZ": // which every server has
				found = append(found, fmt.Sprintf("family %s has %s, and the server may lack its codec (there, hbase org.apache.hadoop.hbase.util.CompressionTest FILE %s tests it)",
					f.Family, codec, strings.ToLower(codec)))
			}
		}
		found = append(found, l.fileCauses(ctx, actor, fsPath(f.Path), seen)...)
	}
	return found
}

// remoteCauses returns the changes needed after an exception that every retry of the call would get.
func (l *load) remoteCauses(ctx context.Context, g group, err error) []string {
	switch {
	case hbaserpc.Threw(err, "AccessDeniedException"):
		return []string{fmt.Sprintf("user %s needs the right ADMIN or CREATE on each family: grant '%s', 'C', '%s'",
			l.cluster.cfg.EffectiveUser, l.cluster.cfg.Owner, l.req.Table)}
	case hbaserpc.Threw(err, "SpaceLimitingException", "QuotaExceededException"):
		return []string{"a space quota of the table or its namespace is used up: raise it or remove it (set_quota), or delete data"}
	}
	return l.causes(ctx, g)
}

// actor returns the user as whom a region server reads and moves the files: the caller if there is a staging directory, else the
// server's own user, who owns HBase's directory. It returns an empty string if that is not known.
func (l *load) actor(ctx context.Context) string {
	if !l.direct {
		return l.cluster.cfg.Owner
	}
	if l.cluster.cfg.RootDir == "" {
		return ""
	}
	info, err := l.req.FS.Stat(ctx, fsPath(l.cluster.cfg.RootDir))
	if err != nil {
		return ""
	}
	user, _ := hdfsio.Owner(info)
	return user
}

// Permissions, as the mode bits of others.
const (
	mayPass      fs.FileMode = 0o1
	mayChange    fs.FileMode = 0o3
	mayReadWrite fs.FileMode = 0o6
)

// denied reports whether a mode denies a user a permission. Group membership is not known here, so a permission of the group counts as the
// user's.
func denied(info fs.FileInfo, user string, need fs.FileMode) bool {
	mode := info.Mode().Perm()
	if name, _ := hdfsio.Owner(info); user != "" && name == user {
		return (mode>>6)&need != need
	}
	return mode&need != need && (mode>>3)&need != need
}

// fileCauses checks a user's permissions on a file and its parent directories, as far as modes show them.
func (l *load) fileCauses(ctx context.Context, user, name string, seen map[string]bool) (found []string) {
	info, err := l.req.FS.Stat(ctx, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return append(found, name+" is not there")
	case err != nil:
		return append(found, err.Error())
	}
	if denied(info, user, mayReadWrite) {
		found = append(found, complain(info, name, user, "read and written", "0666"))
	}
	need, verb, mode := mayChange, "changed", "o+wx"
	for dir := path.Dir(name); dir != "/" && !seen[dir]; dir = path.Dir(dir) {
		seen[dir] = true
		if info, err := l.req.FS.Stat(ctx, dir); err == nil && denied(info, user, need) {
			found = append(found, complain(info, dir, user, verb, mode))
		}
		need, verb, mode = mayPass, "passed", "o+x"
	}
	return found
}

// complain describes the permission that a user lacks on a file, and how to grant it.
func complain(info fs.FileInfo, name, user, verb, mode string) string {
	user = cmp.Or(user, "HBase's user")
	by, group := hdfsio.Owner(info)
	return fmt.Sprintf("%s (owner %s:%s, mode %04o) cannot be %s by %s: chmod %s", name, by, group, info.Mode().Perm(), verb, user, mode)
}
