package job

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
)

// explainLimits adds to the error of a build what to do about a limit of this
// machine that it ran into.
func explainLimits(err error, o BuildOptions) error {
	if err == nil {
		return nil
	}
	dir := cmp.Or(o.SpillDir, os.TempDir())
	pe, _ := errors.AsType[*os.PathError](err)
	spill := pe != nil && strings.HasPrefix(pe.Path, dir) && KindOf(err) != KindHDFS
	switch {
	case errors.Is(err, syscall.EMFILE):
		var limit syscall.Rlimit
		if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil {
			return err
		}
		return &Error{Kind: KindHDFS, Err: fmt.Errorf("%w: this process may have %d files open (raise it with ulimit -n, or LimitNOFILE of a systemd unit, or give fewer --workers)",
			err, limit.Cur)}
	case spill && (errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)):
		var free string
		var st syscall.Statfs_t
		if syscall.Statfs(dir, &st) == nil {
			free = fmt.Sprintf(", where %.0f MiB are free", float64(st.Bavail)*float64(st.Bsize)/(1<<20))
		}
		return &Error{Kind: KindHDFS, Err: fmt.Errorf("%w: sorted rows are spilled to %s%s (make room there, name a directory on a larger disk with --spill-dir, or give more --memory)",
			err, dir, free)}
	case spill && errors.Is(err, syscall.EFBIG):
		return &Error{Kind: KindHDFS, Err: fmt.Errorf("%w: a file of sorted rows in %s is larger than this process may write (raise it with ulimit -f)", err, dir)}
	}
	return err
}
