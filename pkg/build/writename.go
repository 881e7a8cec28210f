package build

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"

	"bulkload/pkg/hdfsio"
)

// unname takes files back that have their names when another of their region
// could not get its own; the region is written again. One that cannot be
// removed now is remembered as ours.
func (w *writers) unname(ctx context.Context, files []*pendingFile) {
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

// claim remembers a file that this job gave a name, though it counts as not written.
func (w *writers) claim(name string, id uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.claims == nil {
		w.claims = map[string][]uint64{}
	}
	w.claims[name] = append(w.claims[name], id)
}

// name gives a complete file its name. A file that has the name already is
// ours when its rename was answered by an error, or when a job continues that
// was stopped between the rename and its record; it is written again.
func (w *writers) name(ctx context.Context, p *pendingFile) error {
	info, err := w.out.FS.Stat(ctx, p.writing)
	if err != nil {
		return err
	}
	id, ok := hdfsio.FileID(info)
	if ok && (w.resume != nil || w.out.Identify) {
		p.FileID = id
	}
	name := path.Join(w.out.Dir, p.Name)
	err = w.out.FS.Rename(ctx, p.writing, name)
	if errors.Is(err, fs.ErrExist) && (w.resume != nil || w.claimed(ctx, name)) {
		if err = w.out.FS.Remove(ctx, name); err == nil {
			err = w.out.FS.Rename(ctx, p.writing, name)
		}
	}
	if err != nil && ok {
		w.claim(name, id)
	}
	return err
}

// claimed says whether the file of that name is one that this job renamed,
// though the answer was another.
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
