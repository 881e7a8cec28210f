package hdfsio

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"bulkload/internal/base/durable"
	"bulkload/internal/formats/spool"
)

// Local is the local disk. A file is written under a hidden temporary name in its directory, and renamed when it is
// finished. A crash leaves at most a file whose name starts with a dot and ends in ".tmp". The zero value is ready for use.
type Local struct{ names *durable.Group }

// Grouped is Local for many concurrent files: the names that several goroutines create in one directory at the same time
// are made durable together. Each call returns when its own name is durable.
func (Local) Grouped() Local { return Local{names: &durable.Group{}} }

// syncDir makes the names in a directory durable.
func (l Local) syncDir(dir string) error {
	if l.names == nil {
		return durable.SyncDir(dir)
	}
	return l.names.SyncDir(dir)
}

var _ FS = Local{}

// Create implements [FS]. If two writers have one name, the first to Finish wins and the other gets fs.ErrExist.
func (l Local) Create(ctx context.Context, name string, o CreateOptions) (Writer, error) {
	name, err := checkedName(ctx, "create", name)
	if err != nil {
		return nil, err
	}
	o = o.withDefaults()
	if _, err := os.Lstat(name); err == nil {
		return nil, &fs.PathError{Op: "create", Path: name, Err: fs.ErrExist}
	}
	dir, base := filepath.Split(name)
	temp := filepath.Join(dir, "."+base+"."+rand.Text()[:10]+".tmp")
	if o.Interim {
		temp = name
	}
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	w := &localWriter{writing: writing{ctx: ctx, name: name}, fs: l, f: f, temp: temp}
	if err := f.Chmod(o.Perm); err != nil {
		return nil, errors.Join(err, w.Abort())
	}
	return w, nil
}

// Open implements [FS].
func (Local) Open(ctx context.Context, name string) (fs.File, error) {
	name, err := checkedName(ctx, "open", name)
	if err != nil {
		return nil, err
	}
	f, err := spool.Open(ctx, name) // a named pipe has no writer yet
	if err != nil {
		return nil, err
	}
	return f, nil
}

// Stat implements [FS].
func (Local) Stat(ctx context.Context, name string) (fs.FileInfo, error) {
	name, err := checkedName(ctx, "stat", name)
	if err != nil {
		return nil, err
	}
	return os.Stat(name)
}

// ReadDir implements [FS].
func (Local) ReadDir(ctx context.Context, name string) ([]fs.FileInfo, error) {
	name, err := checkedName(ctx, "readdir", name)
	if err != nil {
		return nil, err
	}
	d, err := os.OpenFile(name, os.O_RDONLY|syscall.O_DIRECTORY, 0) // opening a named pipe would wait for a writer
	if errors.Is(err, fs.ErrNotExist) {
		err = cmp.Or(dangling(name), err)
	}
	if err != nil {
		return nil, err
	}
	infos, err := d.Readdir(-1)
	if err := errors.Join(err, d.Close()); err != nil {
		return nil, err
	}
	slices.SortFunc(infos, func(a, b fs.FileInfo) int { return cmp.Compare(a.Name(), b.Name()) })
	return infos, nil
}

// Rename implements [FS].
func (l Local) Rename(ctx context.Context, from, to string) error {
	from, err := checkedName(ctx, "rename", from)
	if err != nil {
		return err
	}
	if to, err = checkedName(ctx, "rename", to); err != nil {
		return err
	}
	if err := rename(from, to); err != nil {
		return err
	}
	return l.syncDir(filepath.Dir(to)) // after a crash the old name may exist too
}

// rename moves a file or directory to a name that must not exist; of several processes only one succeeds. A system without such a rename links the
// file to its new name and removes the old one. For directories, and on file systems without links, it only checks before that the new name does
// not exist.
func rename(from, to string) error {
	err := renameNew(from, to)
	if !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	exists := &fs.PathError{Op: "rename", Path: to, Err: fs.ErrExist}
	if info, err := os.Lstat(from); err == nil && info.Mode().IsRegular() {
		switch err := os.Link(from, to); {
		case err == nil:
			return os.Remove(from)
		case errors.Is(err, fs.ErrExist):
			return exists
		}
	}
	if _, err := os.Lstat(to); err == nil {
		return exists
	}
	return os.Rename(from, to)
}

// Remove implements [FS].
func (Local) Remove(ctx context.Context, name string) error {
	return local(ctx, "remove", name, os.Remove)
}

// RemoveAll implements [FS].
func (Local) RemoveAll(ctx context.Context, name string) error {
	return local(ctx, "remove", name, os.RemoveAll)
}

// MkdirAll implements [FS].
func (l Local) MkdirAll(ctx context.Context, name string, perm fs.FileMode) error {
	name, err := checkedName(ctx, "mkdir", name)
	if err != nil {
		return err
	}
	return durable.MakeDirs(name, func(dir string) error {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return err
		}
		// Only the last directory may be closed to its owner: the others must be traversed.
		if dir != name {
			return os.Chmod(dir, perm|0o300)
		}
		return os.Chmod(dir, perm)
	})
}

// Mkdir implements [FS].
func (l Local) Mkdir(ctx context.Context, name string, perm fs.FileMode) error {
	clean, err := checkedName(ctx, "mkdir", name)
	if err == nil {
		_, err = os.Stat(filepath.Dir(clean))
	}
	if err != nil {
		return err
	}
	return l.MkdirAll(ctx, name, perm)
}

// Chmod implements [FS].
func (Local) Chmod(ctx context.Context, name string, perm fs.FileMode) error {
	return local(ctx, "chmod", name, func(name string) error { return os.Chmod(name, perm) })
}

// local makes one call about a file whose name is to be checked.
func local(ctx context.Context, op, name string, call func(name string) error) error {
	name, err := checkedName(ctx, op, name)
	if err != nil {
		return err
	}
	return call(name)
}

// dangling returns an error if name is at or below a symbolic link without a target, where no directory can be made.
func dangling(name string) error {
	for above := filepath.Dir(name); name != above; name, above = above, filepath.Dir(above) {
		if _, err := os.Stat(name); err == nil {
			return nil
		}
		if to, err := os.Readlink(name); err == nil {
			return &fs.PathError{Op: "open", Path: name, Err: fmt.Errorf("a symbolic link to %s, which does not exist: %w", to, syscall.ENOTDIR)}
		}
	}
	return nil
}

// checkedName is cleanName unless the context has ended.
func checkedName(ctx context.Context, op, name string) (string, error) {
	if ctx.Err() != nil {
		return "", &fs.PathError{Op: op, Path: name, Err: context.Cause(ctx)}
	}
	return cleanName(op, name)
}

// sysFileID returns the inode number of a local file.
func sysFileID(sys any) (uint64, bool) {
	if st, ok := sys.(*syscall.Stat_t); ok {
		return st.Ino, true
	}
	return 0, false
}

type localWriter struct {
	writing
	fs    Local
	f     *os.File
	temp  string
	begun int64 // bytes whose writeback the kernel has been asked to start
}

// writebackBytes is the number of bytes written between requests to start writeback, which leaves little for the final sync.
const writebackBytes = 8 << 20

func (w *localWriter) Write(p []byte) (int, error) {
	if err := w.check(); err != nil {
		return 0, err
	}
	n, err := w.f.Write(p)
	w.n += int64(n)
	if w.n-w.begun >= writebackBytes {
		startWriteback(w.f, w.begun, w.n-w.begun)
		w.begun = w.n
	}
	return n, w.fail(err)
}

func (w *localWriter) Finish() error {
	if err := w.check(); err != nil {
		return err
	}
	info, err := w.f.Stat()
	if err == nil && info.Size() != w.n {
		err = lengthError(w.n, info.Size())
	}
	if err == nil {
		err = w.f.Sync()
	}
	if err = errors.Join(err, w.f.Close()); err != nil {
		return w.fail(err)
	}
	if w.temp == w.name {
		w.done = true
		return nil
	}
	// A link refuses an existing name; a rename would replace it.
	err = os.Link(w.temp, w.name)
	switch {
	case err == nil:
		err = os.Remove(w.temp)
	case errors.Is(err, syscall.EPERM) || errors.Is(err, errors.ErrUnsupported):
		// The file system has no hard links.
		if _, e := os.Lstat(w.name); e == nil {
			err = fs.ErrExist
		} else {
			err = os.Rename(w.temp, w.name)
		}
	}
	if err == nil {
		err = w.fs.syncDir(filepath.Dir(w.name))
	}
	if err != nil {
		return w.fail(err)
	}
	w.done = true
	return nil
}

func (w *localWriter) Abort() error {
	if w.done {
		return nil
	}
	w.done = true
	err := w.f.Close()
	if errors.Is(err, fs.ErrClosed) {
		err = nil
	}
	if e := os.Remove(w.temp); !errors.Is(e, fs.ErrNotExist) {
		err = errors.Join(err, e)
	}
	return err
}
