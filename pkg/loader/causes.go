package loader

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
)

// causes looks for what may have made a server refuse files that are at their sources, in a region that is as it was. The
// answer itself has no reason (RSRpcServices.bulkLoadHFile, 2.6: what SecureBulkLoadManager throws is logged only).
func (l *load) causes(ctx context.Context, g group) []string {
	var found []string
	table, err := l.c.Describe(ctx, l.req.Table)
	switch {
	case err != nil:
		found = append(found, err.Error())
	case table.State != Enabled:
		found = append(found, "the table is "+table.State.String()+" now")
	case table.ReadOnly:
		found = append(found, "the table is read-only now")
	}
	seen := map[string]bool{}
	for _, f := range g.files {
		if table != nil {
			if _, ok := table.Family(f.Family); !ok {
				found = append(found, fmt.Sprintf("the table has no family %s now", f.Family))
			}
		}
		found = append(found, l.fileCauses(ctx, fsPath(f.Path), seen)...)
	}
	return found
}

// fileCauses looks at the rights that HBase's user, who is another, has on a file and the way to it.
func (l *load) fileCauses(ctx context.Context, name string, seen map[string]bool) (found []string) {
	info, err := l.req.FS.Stat(ctx, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return append(found, name+" is not there")
	case err != nil:
		return append(found, err.Error())
	}
	user, group := owner(info)
	if need := fs.FileMode(0o004); info.Mode().Perm()&need != need {
		found = append(found, fmt.Sprintf("%s (owner %s:%s, mode %04o) cannot be read by others: chmod 0666", name, user, group, info.Mode().Perm()))
	}
	for dir := path.Dir(name); dir != "/" && !seen[dir]; dir = path.Dir(dir) {
		seen[dir] = true
		info, err := l.req.FS.Stat(ctx, dir)
		if err != nil {
			continue
		}
		if info.Mode().Perm()&0o001 == 0 {
			user, group := owner(info)
			found = append(found, fmt.Sprintf("%s (owner %s:%s, mode %04o) cannot be passed by others: chmod o+x", dir, user, group, info.Mode().Perm()))
		}
	}
	return found
}
