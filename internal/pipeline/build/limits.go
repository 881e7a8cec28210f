package build

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"bulkload/internal/model/fail"
	"bulkload/internal/model/spec"
	"bulkload/pkg/partition/extsort"
	"bulkload/pkg/setting"
)

// restOfAddresses is the least address space that the program takes apart from its memory budget. Go's runtime reserves most of it.
const restOfAddresses = 1 << 30

// addressable refuses a limit of the address space that has no room for the memory budget: Go's runtime would end the program.
func (o Options) addressable(limit uint64) error {
	need := uint64(o.Memory) + restOfAddresses
	if limit >= need {
		return nil
	}
	return fail.Errorf(fail.Config, "memory of %s needs an address space of %s, and this process may have %s (raise that with ulimit -v, or give less %s)",
		o.Memory, spec.Size(need).Rounded(), spec.Size(limit).Rounded(), setting.Memory)
}

// explainLimits adds advice to a build's error about a limit of this machine.
func explainLimits(err error, o Options) error {
	if err == nil {
		return nil
	}
	dir, e := filepath.Abs(cmp.Or(o.SpillDir, os.TempDir()))
	name := fail.WrittenName(err)
	spill := e == nil && (strings.HasPrefix(name, dir+"/") || name == dir)
	switch {
	case errors.Is(err, syscall.ENOMEM):
		return fail.Errorf(fail.Config, "%w; or raise the limit of the address space with ulimit -v", err)
	case errors.Is(err, syscall.EMFILE):
		var limit syscall.Rlimit
		if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil {
			return err
		}
		return &fail.Error{Kind: fail.HDFS, Err: setting.Errorf("%w: this process may open %s (raise that with ulimit -n, or LimitNOFILE of a systemd unit, or give fewer %s)",
			err, setting.Count(limit.Cur, "file"), setting.Workers)}
	case spill && fail.DiskFull(err):
		err = fail.With(fail.HDFS, err)
		if full, ok := errors.AsType[*fail.DiskFullError](err); ok {
			full.Advise(setting.Textf("the disk of %s is full of sorted rows: make room there, name a directory on a larger disk with %s, or give more %s", dir, setting.SpillDir, setting.Memory))
		}
	case spill && extsort.OwnFile(name):
		return &fail.Error{Kind: fail.HDFS, Err: setting.Errorf("%w: sorted rows cannot be written to or read from %s (name another directory with %s)", err, dir, setting.SpillDir)}
	}
	return err
}
