package faults

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"regexp"

	"bulkload/pkg/hdfsio"
)

// The ways to flip a bit of a file on HDFS.
const (
	flipRewritten = "rewritten"         // HDFS rewrites the file, with its name and owner
	flipReplica   = "one replica"       // on the disk of one DataNode; the checksum reveals it
	flipReplicas  = "all replicas"      // on the disks of all; the checksums reveal it
	flipUnseen    = "replicas and sums" // on the disks of all, with matching checksums
)

// flipWays returns the ways, the more likely ones more than once. One replica with a repaired checksum is not among them: a
// reader of the file before the load cannot know which replica HBase will read.
func flipWays() []string {
	return []string{flipRewritten, flipRewritten, flipUnseen, flipUnseen, flipReplicas, flipReplica}
}

var hfileName = regexp.MustCompile(`/[^/_.][^/]*/[0-9a-f]{32}$`)

// flip flips one bit of one of the job's files that have their final names and the job's location.
func (r *round) flip(ctx context.Context) error {
	fsys, dir, err := r.lab.tina.Resolve("hdfs://" + r.stage)
	if err != nil {
		return err
	}
	staged, err := filesBelow(ctx, fsys, dir)
	if err != nil {
		return err
	}
	var files []string
	for _, name := range staged {
		if hfileName.MatchString(name) && path.Base(path.Dir(name)) == family {
			files = append(files, name)
		}
	}
	if len(files) == 0 {
		r.late = true
		return nil
	}
	rnd := rand.New(rand.NewPCG(r.fault.Pick, flipStream))
	name := files[rnd.IntN(len(files))]
	was, err := fsys.Stat(ctx, name)
	if errors.Is(err, fs.ErrNotExist) {
		r.late = true
		return nil
	}
	if err != nil {
		return err
	}
	at, bit := rnd.Int64N(was.Size()), uint(rnd.IntN(8))
	r.names, r.flipped = append(r.names, path.Base(name)), name
	if r.fault.How == flipRewritten {
		err = r.rewrite(ctx, fsys, name, was, at, bit)
	} else {
		err = r.flipReplicas(ctx, name, at, bit)
	}
	if errors.Is(err, fs.ErrNotExist) {
		r.late = true
		return nil
	}
	if err != nil {
		return err
	}
	all, _ := events(r.state)
	last := ""
	if len(all) > 0 {
		last = all[len(all)-1]
	}
	r.note = fmt.Sprintf("bit %d of byte %d of %d of %s after %s", bit, at, was.Size(), path.Base(name), last)
	// The program may have read the file for the last time, or HBase has it: the result is not judged.
	now, err := fsys.Stat(ctx, name)
	if errors.Is(err, fs.ErrNotExist) || r.fault.How != flipRewritten && err == nil && !sameFile(was, now) || !r.fault.Between && count(all, "built") > 0 ||
		r.journaled("sending", name) {
		r.late, r.undecided = true, true
		return nil
	}
	return err
}

func sameFile(a, b fs.FileInfo) bool {
	one, ok := hdfsio.FileID(a)
	other, same := hdfsio.FileID(b)
	return ok && same && one == other
}

// rewrite rewrites a file with one bit flipped. The new file has the same owner and mode.
func (r *round) rewrite(ctx context.Context, fsys hdfsio.FS, name string, was fs.FileInfo, at int64, bit uint) error {
	b, err := readAll(ctx, fsys, name)
	if err != nil {
		return err
	}
	b[at] ^= 1 << bit
	if err := os.WriteFile(filepath.Join(filepath.Dir(r.state), "flipped.hfile"), b, 0o644); err != nil {
		return err
	}
	other := r.stage + "-flipped"
	w, err := fsys.Create(ctx, other, hdfsio.CreateOptions{Perm: was.Mode().Perm()})
	if err != nil {
		return err
	}
	if _, err = w.Write(b); err == nil {
		err = w.Finish()
	}
	if err != nil {
		return errors.Join(err, w.Abort())
	}
	if err := fsys.Remove(ctx, name); err != nil {
		return errors.Join(err, fsys.Remove(ctx, other))
	}
	return fsys.Rename(ctx, other, name)
}

func readAll(ctx context.Context, fsys hdfsio.FS, name string) ([]byte, error) {
	f, err := fsys.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}

// flipReplicas flips a bit on the disks of DataNodes.
func (r *round) flipReplicas(ctx context.Context, name string, at int64, bit uint) error {
	blocks, err := r.lab.blocks(ctx, name)
	if err != nil {
		return err
	}
	for _, b := range blocks {
		if at >= b.length {
			at -= b.length
			continue
		}
		all, err := r.lab.replicas(b)
		if err != nil || len(all) == 0 {
			return errors.Join(err, fmt.Errorf("no replica of block %d of %s", b.id, name))
		}
		if r.fault.How == flipReplica {
			all = all[:1]
		}
		for _, replica := range all {
			if err := flipInFile(replica, at, bit); err != nil {
				return err
			}
			if r.fault.How == flipUnseen {
				if err := mendChecksum(replica, at); err != nil {
					return err
				}
			}
		}
		return nil
	}
	return fmt.Errorf("blocks of %s: %w", name, fs.ErrNotExist)
}
