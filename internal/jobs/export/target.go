package export

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"bulkload/internal/base/cleanup"
	"bulkload/internal/engine/journal"
	"bulkload/internal/model/fail"
	"bulkload/pkg/hdfsio"
)

const (
	// writingDir is the directory of files that are not whole yet.
	writingDir = "_writing"
	// claimName is a file in it, which one export alone can make, and staleName its name when another export takes over.
	claimName, staleName = "claim", "claim.stale"
	// partPrefix begins the names of the files of regions.
	partPrefix = "part-"
)

// ErrNotEmpty is wrapped by the refusal of a directory that holds something.
var ErrNotEmpty = errors.New("the directory is not empty")

// A Claim says which process writes an export, and which snapshots it has to delete: the one that it takes of the table, if
// any, and those of exports that were killed before.
type Claim struct {
	Owner     journal.Owner `json:"owner"`
	Snapshots []Snapshot    `json:"snapshots,omitempty"`
}

// A Snapshot is one that an export takes of a table.
type Snapshot struct {
	Table   string `json:"table"`
	Name    string `json:"name"`
	Created int64  `json:"created"` // the time of its making in milliseconds
}

// A Target is a directory that one export writes to, from [Begin] until Finish or Remove has ended.
type Target struct {
	// Left are the snapshots of exports that were killed, whose files Begin has removed. They may be there still.
	Left []Snapshot
	// Complete is the manifest of an export that was killed after its last file was written; nil: there is none. Nothing can be
	// written then: [Target.End] ends that export.
	Complete *Manifest

	fsys hdfsio.FS
	dir  string
	made bool // the directory was
}

// Begin makes a directory, which is missing or empty, the target of an export by this process, which takes the snapshots own.
// What an export left there whose process, of this host, has ended, is removed.
func Begin(ctx context.Context, fsys hdfsio.FS, dir string, own ...Snapshot) (*Target, error) {
	t := &Target{fsys: fsys, dir: dir}
	owner, err := journal.Self(time.Now())
	if err != nil {
		return nil, err
	}
	if err := t.takeOver(ctx); err != nil {
		return nil, fail.With(fail.HDFS, err)
	}
	if t.Complete != nil {
		return t, nil
	}
	if err := t.claim(ctx, Claim{owner, slices.Concat(t.Left, own)}); err != nil {
		return nil, fail.With(fail.HDFS, err)
	}
	return t, nil
}

// takeOver refuses a directory that is not empty, unless an export that was killed has left it.
func (t *Target) takeOver(ctx context.Context) error {
	infos, err := t.fsys.ReadDir(ctx, t.dir)
	has := func(name string) bool {
		return slices.ContainsFunc(infos, func(i fs.FileInfo) bool { return i.Name() == name })
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case len(infos) == 0:
		return nil
	case has(ManifestName) && !has(writingDir):
		return t.refused(complete)
	case !has(writingDir):
		return t.refused("name an empty directory, or one that does not exist")
	}
	left, err := t.readClaim(ctx, claimName)
	if errors.Is(err, fs.ErrNotExist) {
		left, err = t.readClaim(ctx, staleName)
	} else if err == nil {
		err = t.stale(ctx, left)
	}
	if errors.Is(err, fs.ErrNotExist) && len(infos) == 1 {
		return nil // a process was killed before it had its claim, or is about to make one, which only one can
	}
	if err != nil {
		return err
	}
	t.Left = left.Snapshots
	if has(ManifestName) {
		t.Complete, err = ReadManifest(ctx, t.fsys, t.dir)
		return err
	}
	return t.removeParts(ctx)
}

// complete is why a directory with an export is refused.
const complete = "it has a complete export: name another directory, or remove it"

// End ends an export that is complete, if it is the one that p makes of a table or of a snapshot.
func (t *Target) End(ctx context.Context, p *Plan, table, snapshot string) error {
	m := t.Complete
	if m.Format != p.o.Format || !slices.Equal(m.Columns, p.Columns()) || table != "" && m.Table != table || snapshot != "" && m.Snapshot != snapshot {
		return t.refused(complete)
	}
	if was, now := m.Choice.String(), p.o.Choice.String(); was != now {
		return t.refused(fmt.Sprintf("it has a complete export of %s; asked for now is %s: name another directory, or remove it", cmp.Or(was, "all cells"), cmp.Or(now, "all cells")))
	}
	return t.Finish(ctx)
}

// Finish ends a target whose files are complete, when the snapshots of its claim are deleted.
func (t *Target) Finish(ctx context.Context) error {
	return fail.With(fail.HDFS, t.fsys.RemoveAll(ctx, path.Join(t.dir, writingDir)))
}

func (t *Target) refused(why string) error {
	return fail.Errorf(fail.Config, "%s: %w: %s", t.dir, ErrNotEmpty, why)
}

// readClaim reads a claim, which must be of a process of this host that has ended.
func (t *Target) readClaim(ctx context.Context, name string) (c Claim, err error) {
	f, err := t.fsys.Open(ctx, path.Join(t.dir, writingDir, name))
	if err != nil {
		return c, err
	}
	b, err := io.ReadAll(f)
	if err = errors.Join(err, f.Close()); err != nil {
		return c, err
	}
	if json.Unmarshal(b, &c) != nil {
		return c, t.refused("another export writes to it, or was killed and left it: then remove it")
	}
	switch runs, here := c.Owner.Running(); {
	case !here:
		return c, t.refused(fmt.Sprintf("an export on host %s (process %d) writes to it: if that has ended, remove it", c.Owner.Host, c.Owner.PID))
	case runs:
		return c, t.refused(fmt.Sprintf("another export writes to it (process %d)", c.Owner.PID))
	}
	return c, nil
}

// stale moves a claim out of the way. Of several processes that do so at once, one succeeds; one that has moved the claim of a
// process that was faster moves it back.
func (t *Target) stale(ctx context.Context, left Claim) error {
	from, to := path.Join(t.dir, writingDir, claimName), path.Join(t.dir, writingDir, staleName)
	if err := t.fsys.Remove(ctx, to); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := t.fsys.Rename(ctx, from, to); err != nil {
		return errors.Join(t.refused("another export writes to it"), err)
	}
	if is, err := t.readClaim(ctx, staleName); err != nil || is.Owner != left.Owner {
		return errors.Join(t.refused("another export writes to it"), err, t.fsys.Rename(ctx, to, from))
	}
	return nil
}

// claim makes the directory this process's own.
func (t *Target) claim(ctx context.Context, c Claim) error {
	_, err := t.fsys.Stat(ctx, t.dir)
	made := errors.Is(err, fs.ErrNotExist)
	below := path.Join(t.dir, writingDir)
	if err := t.fsys.MkdirAll(ctx, below, 0o755); err != nil {
		return err
	}
	err = t.writeClaim(ctx, below, c)
	if errors.Is(err, fs.ErrExist) {
		return t.refused("another export writes to it")
	}
	if err != nil {
		ctx, cancel := cleanup.Context(ctx)
		defer cancel()
		// Directories that hold another's files stay.
		if t.fsys.Remove(ctx, below) == nil && made {
			_ = t.fsys.Remove(ctx, t.dir)
		}
		return err
	}
	t.made = made
	if err := t.fsys.Remove(ctx, path.Join(below, staleName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	infos, err := t.fsys.ReadDir(ctx, t.dir)
	if err == nil && len(infos) > 1 {
		err = t.refused("another program has just written to it")
		return errors.Join(err, t.fsys.RemoveAll(ctx, below))
	}
	if err != nil {
		err = errors.Join(err, t.Remove(ctx))
	}
	return err
}

// writeClaim writes the claim under another name and renames it, so that it is whole when others see it.
func (t *Target) writeClaim(ctx context.Context, below string, c Claim) error {
	b, err := json.Marshal(c)
	if err != nil {
		return err
	}
	name := path.Join(below, fmt.Sprintf("%s.%s-%d", claimName, c.Owner.Host, c.Owner.PID))
	f, err := t.fsys.Create(ctx, name, hdfsio.CreateOptions{})
	if err != nil {
		return err
	}
	if _, err = f.Write(b); err == nil {
		err = f.Finish()
	}
	if err != nil {
		return errors.Join(err, f.Abort())
	}
	if err = t.fsys.Rename(ctx, name, path.Join(below, claimName)); err != nil {
		ctx, cancel := cleanup.Context(ctx)
		defer cancel()
		err = errors.Join(err, t.fsys.Remove(ctx, name))
	}
	return err
}

// Remove removes the target with all that was written, also after ctx has ended.
func (t *Target) Remove(ctx context.Context) error {
	ctx, cancel := cleanup.Context(ctx)
	defer cancel()
	err := t.removeFiles(ctx)
	if err == nil && t.made {
		err = t.fsys.Remove(ctx, t.dir)
	}
	if err != nil {
		return fmt.Errorf("failed to remove the files in %s: %w; remove them by hand", t.dir, err)
	}
	return nil
}

// removeFiles removes the files of an export, its claim last.
func (t *Target) removeFiles(ctx context.Context) error {
	if err := t.removeParts(ctx); err != nil {
		return err
	}
	return t.fsys.RemoveAll(ctx, path.Join(t.dir, writingDir))
}

// removeParts removes the files that have got their names, and those that are being written.
func (t *Target) removeParts(ctx context.Context) error {
	for _, dir := range []string{t.dir, path.Join(t.dir, writingDir)} {
		infos, err := t.fsys.ReadDir(ctx, dir)
		if err != nil {
			return err
		}
		for _, i := range infos {
			if !i.IsDir() && (strings.HasPrefix(i.Name(), partPrefix) || i.Name() == ManifestName) {
				if err := t.fsys.Remove(ctx, path.Join(dir, i.Name())); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
