package build

import (
	"context"
	"errors"
	"hash/crc32"
	"io"
	"io/fs"
	"path"
	"slices"

	"bulkload/internal/base/cleanup"
	"bulkload/internal/model/manifest"
	"bulkload/pkg/hdfsio"
)

// unname removes files that have their final names when another file of their
// region could not get its own, also because the build was cancelled; else the region is
// written again. A file that cannot be removed now is remembered as ours.
func (w *writers) unname(ctx context.Context, files []*pendingFile) {
	ctx, cancel := cleanup.Context(ctx)
	defer cancel()
	for _, f := range files {
		name := path.Join(w.out.Dir, f.Name)
		info, err := w.out.FS.Stat(ctx, name)
		if w.out.FS.Remove(ctx, name) == nil || err != nil {
			continue
		}
		if id, ok := hdfsio.FileID(info); ok {
			w.claim(name, id)
		}
	}
}

// claim remembers a file that this job has renamed to its final name but that counts as not written.
func (w *writers) claim(name string, id uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.claims == nil {
		w.claims = map[string][]uint64{}
	}
	w.claims[name] = append(w.claims[name], id)
}

// name renames a complete file to its final name. An existing file of that name
// is ours if its rename returned an error, or if the job was stopped between
// the rename and its record; it is replaced.
func (w *writers) name(ctx context.Context, p *pendingFile) error {
	info, err := w.info(ctx, p)
	if err != nil {
		return err
	}
	id, ok := hdfsio.FileID(info)
	if ok && (w.resume != nil || w.out.Identify) {
		p.FileID = id
	}
	name := path.Join(w.out.Dir, p.Name)
	err = w.rename(ctx, p.writing, name, id)
	if errors.Is(err, fs.ErrExist) && (w.resume != nil || w.claimed(ctx, name)) {
		if err = w.out.FS.Remove(ctx, name); err == nil {
			err = w.out.FS.Rename(ctx, p.writing, name)
		}
	}
	if errors.Is(err, fs.ErrExist) && w.out.Shared {
		return w.shareName(ctx, p, name)
	}
	if err != nil && ok {
		w.claim(name, id)
	}
	return err
}

// mayName returns nil when files may get their names.
func (w *writers) mayName(ctx context.Context) error {
	if w.allowed == nil {
		return nil
	}
	if err := w.allowed(); err != nil {
		return err
	}
	return context.Cause(ctx) // it may have waited
}

// info describes a complete file. The writer may already have the description.
func (w *writers) info(ctx context.Context, p *pendingFile) (fs.FileInfo, error) {
	if info := p.sink.Info(); info != nil {
		return info, nil
	}
	return w.out.FS.Stat(ctx, p.writing)
}

// rename renames a file with a known id, 0 if it has none.
func (w *writers) rename(ctx context.Context, from, to string, id uint64) error {
	if r, ok := w.out.FS.(hdfsio.Renamer); ok && id != 0 {
		return r.RenameFile(ctx, from, to, id)
	}
	return w.out.FS.Rename(ctx, from, to)
}

// claimed reports whether the file of that name is one that this job renamed
// although the rename returned an error.
func (w *writers) claimed(ctx context.Context, name string) bool {
	w.mu.Lock()
	ids := w.claims[name]
	w.mu.Unlock()
	if len(ids) == 0 {
		return false
	}
	info, err := w.out.FS.Stat(ctx, name)
	if err != nil {
		return false
	}
	id, ok := hdfsio.FileID(info)
	return ok && slices.Contains(ids, id)
}

// shareName handles a file that another process has written too. The content follows from the plan, so an intact existing
// file is kept, because it may already be in use, and is recorded; a damaged one is replaced.
func (w *writers) shareName(ctx context.Context, p *pendingFile, name string) error {
	id, same, err := sameFile(ctx, w.out.FS, name, p.File)
	if err != nil {
		return err
	}
	if same {
		if p.FileID != 0 {
			p.FileID = id
		}
		return w.out.FS.Remove(ctx, p.writing)
	}
	if err := w.out.FS.Remove(ctx, name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return w.out.FS.Rename(ctx, p.writing, name)
}

// sameFile reports whether a file has the bytes of a written file, and returns its id, 0 if it has none.
func sameFile(ctx context.Context, fsys hdfsio.FS, name string, want manifest.File) (id uint64, same bool, err error) {
	f, err := fsys.Open(ctx, name)
	if err != nil {
		return 0, false, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return 0, false, err
	}
	id, _ = hdfsio.FileID(info)
	sum := crc32.New(crc32.MakeTable(crc32.Castagnoli))
	n, err := io.Copy(sum, f)
	return id, err == nil && n == want.Bytes && sum.Sum32() == want.CRC32C, err
}

// Policies are the storage policies of files on HDFS.
type Policies struct {
	Of      map[string]string                                           // by family; none: inherited from the parent directory
	Refused func(ctx context.Context, family, policy string, err error) // called for a policy that HDFS does not accept; may be nil
}

// WritingOf returns the directory of a family's incomplete files: files with a storage policy have a directory of their own, because
// blocks stay where they are when a file is renamed.
func (o Output) WritingOf(family string) string {
	if o.Policies.Of[family] == "" {
		return o.writing()
	}
	return path.Join(o.writing(), family)
}

// SetPolicy creates the directory of a family's incomplete files, if the family has a storage policy, and sets the policy on it and on the
// family's directory, which must exist. A policy that HDFS does not accept, or for which no DataNode has disks, is skipped.
func (o Output) SetPolicy(ctx context.Context, family string) error {
	policy := o.Policies.Of[family]
	if policy == "" {
		return nil
	}
	if err := o.Mkdir(ctx, o.WritingOf(family)); err != nil {
		return err
	}
	err := o.trySetting(ctx, family, policy)
	if err == nil || ctx.Err() != nil {
		return err
	}
	if o.Policies.Refused != nil {
		o.Policies.Refused(ctx, family, policy, err)
	}
	if err := o.FS.RemoveAll(ctx, path.Join(o.Dir, o.WritingOf(family))); err != nil {
		return err
	}
	return o.Mkdir(ctx, o.WritingOf(family))
}

// trySetting sets the policy and writes a byte.
func (o Output) trySetting(ctx context.Context, family, policy string) error {
	p, ok := o.FS.(hdfsio.PolicySetter)
	if !ok {
		return errors.ErrUnsupported
	}
	writing := path.Join(o.Dir, o.WritingOf(family))
	if err := p.SetStoragePolicy(ctx, writing, policy); err != nil {
		return err
	}
	name := path.Join(writing, "_try")
	w, err := o.FS.Create(ctx, name, hdfsio.CreateOptions{Perm: o.FileMode})
	if err != nil {
		return err
	}
	if _, err = w.Write([]byte{0}); err == nil {
		err = w.Finish()
	}
	if err != nil {
		return errors.Join(err, w.Abort())
	}
	if err := o.FS.Remove(ctx, name); err != nil {
		return err
	}
	return p.SetStoragePolicy(ctx, path.Join(o.Dir, family), policy)
}
