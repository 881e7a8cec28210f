package hdfsio

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
)

// FS is a file system. The package documentation lists the rules for all implementations.
type FS interface {
	// Create starts a new file. Its directory must exist. An existing name gives fs.ErrExist, here or, if two writers create it
	// concurrently, from Finish of the later one. The context also bounds the life of the Writer: when it ends, so does the write.
	Create(ctx context.Context, name string, o CreateOptions) (Writer, error)
	// Open opens a file for reading. The result is also an io.ReaderAt, whose ReadAt does not move the position of Read
	// and may be called by several goroutines. Reads may fail when the context has ended.
	Open(ctx context.Context, name string) (fs.File, error)
	// Stat describes a file or directory.
	Stat(ctx context.Context, name string) (fs.FileInfo, error)
	// ReadDir lists a directory, sorted by name.
	ReadDir(ctx context.Context, name string) ([]fs.FileInfo, error)
	// Rename moves a file or a directory. An existing target gives fs.ErrExist; the target's directory must exist.
	Rename(ctx context.Context, from, to string) error
	// Remove removes a file or an empty directory.
	Remove(ctx context.Context, name string) error
	// RemoveAll removes a tree; a name that does not exist is not an error.
	RemoveAll(ctx context.Context, name string) error
	// MkdirAll creates a directory and its parents with the given mode; existing ones keep theirs.
	MkdirAll(ctx context.Context, name string, perm fs.FileMode) error
	// Mkdir creates a directory with the given mode; an existing one keeps its mode. The parent must exist.
	Mkdir(ctx context.Context, name string, perm fs.FileMode) error
	// Chmod sets the permission bits of a file or directory.
	Chmod(ctx context.Context, name string, perm fs.FileMode) error
}

// ReaderAt is an open file that is read at offsets, with what was known of it when it was opened.
type ReaderAt struct {
	fs.File
	io.ReaderAt
	Info fs.FileInfo
}

// OpenAt opens a file of a file system to read it at offsets.
func OpenAt(ctx context.Context, fsys interface {
	Open(ctx context.Context, name string) (fs.File, error)
}, name string) (*ReaderAt, error) {
	f, err := fsys.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	at, ok := f.(io.ReaderAt)
	if err == nil && !ok {
		err = fmt.Errorf("%s: %T cannot be read at an offset", name, f)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &ReaderAt{f, at, info}, nil
}

// Writer writes one new file. It must be used by one goroutine.
type Writer interface {
	io.Writer
	// Finish makes the file complete and durable and checks its length. After an error the file must be written again.
	Finish() error
	// Abort abandons the file and removes any part of it. After a Finish that returned nil it does nothing, so it can be deferred.
	Abort() error
}

// writing is the state of a [Writer].
type writing struct {
	ctx  context.Context
	name string
	n    int64 // bytes written
	err  error // the first error, which later calls return too
	done bool
}

// check returns an error if the file can no longer be written.
func (w *writing) check() error {
	switch {
	case w.err != nil:
		return w.err
	case w.done:
		return &fs.PathError{Op: "write", Path: w.name, Err: fs.ErrClosed}
	}
	return w.fail(context.Cause(w.ctx))
}

func (w *writing) fail(err error) error {
	if err != nil && w.err == nil {
		w.err = &RewriteError{Path: w.name, Offset: w.n, Err: err}
	}
	return w.err
}

// CreateOptions are the options of a new file.
type CreateOptions struct {
	// Perm is the exact mode of the file. Default 0644.
	Perm fs.FileMode
	// BlockSize in bytes is rounded up to whole checksum chunks (512 bytes). A file that fits in one block needs no change
	// of pipeline during the write, which is the most fragile moment of an HDFS write: set at least the expected size.
	// Only HDFS uses it. Default: the server's.
	BlockSize int64
	// Replication is the number of replicas. Only HDFS uses it. Default: the server's.
	Replication int
	// Near is the server, host:port, whose host gets the first replica if it has a DataNode. Only HDFS uses it. Default: the NameNode
	// chooses.
	Near string
	// Interim marks a file that is renamed once it is finished: Finish makes its bytes durable, and its name is durable when
	// Rename returns. A crash may leave a partial file of that name. On a Local disk interim files have their names from the
	// first byte. On HDFS Finish creates a small interim file, and returns the errors that Create would have returned.
	Interim bool
}

// ReadFile returns the content of a file, but at most its first bytes up to the given number.
func ReadFile(ctx context.Context, fsys FS, name string, most int64) ([]byte, error) {
	f, err := fsys.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, most))
}

// WriteFile writes a file with the output of from. If it returns an error, it has tried to remove the file.
func WriteFile(ctx context.Context, fsys FS, name string, from io.WriterTo, o CreateOptions) error {
	w, err := fsys.Create(ctx, name, o)
	if err != nil {
		return err
	}
	if _, err = from.WriteTo(w); err == nil {
		err = w.Finish()
	}
	if err != nil {
		return errors.Join(err, w.Abort())
	}
	return nil
}

// Finished is a Writer that can describe the file after Finish.
type Finished interface {
	// Info describes the file; nil before Finish has returned nil.
	Info() fs.FileInfo
}

// Reopener is a Writer that opens the finished file with fewer calls than Open.
type Reopener interface {
	// Reopen opens the file as the file system has it now: closed, with the length that was written.
	Reopen(ctx context.Context) (fs.File, error)
}

// PolicySetter is an FS whose files are on disks of several types.
type PolicySetter interface {
	// SetStoragePolicy applies a storage policy, such as ONE_SSD, to files created below a directory from now on.
	SetStoragePolicy(ctx context.Context, name, policy string) error
}

// Renamer is an FS that renames a file whose identity the caller knows with fewer calls than Rename.
type Renamer interface {
	// RenameFile is Rename for the file with the [FileID] id.
	RenameFile(ctx context.Context, from, to string, id uint64) error
}

func (o CreateOptions) withDefaults() CreateOptions {
	o.Perm = cmp.Or(o.Perm, 0o644)
	return o
}

// ErrRewrite is matched by errors after which a file cannot be continued and must be written again from its first byte.
var ErrRewrite = errors.New("the file must be written again")

// Causes of a failure that persist until an operator acts. The message names the object to act on.
var (
	// ErrQuota means that a directory's quota of names or of space is exceeded.
	ErrQuota = errors.New("quota exceeded")
	// ErrNoSpace means that no DataNode has room for a block.
	ErrNoSpace = errors.New("no space left on hdfs")
)

// RewriteError reports a failed write. The name may be left behind, empty or partial; write again under another name.
type RewriteError struct {
	Path   string
	Offset int64 // bytes accepted before the failure
	Err    error
}

func (e *RewriteError) Error() string {
	return fmt.Sprintf("write %s at byte %d: %v", e.Path, e.Offset, e.Err)
}

func (e *RewriteError) Unwrap() error { return e.Err }

// Is reports whether target is ErrRewrite.
func (e *RewriteError) Is(target error) bool { return target == ErrRewrite }

// FileID returns the identity of a file: the inode number on HDFS and on unix disks. A rename keeps it, and no other file
// of the same file system has it at that time. The info must be from Stat or ReadDir of this package's file systems. It
// returns false if the file system has no identities.
func FileID(info fs.FileInfo) (uint64, bool) {
	if f, ok := info.(interface{ FileID() (uint64, bool) }); ok {
		return f.FileID()
	}
	return sysFileID(info.Sys())
}

// Owner returns the owning user and group of a file, empty if the file system does not provide them.
func Owner(info fs.FileInfo) (user, group string) {
	if f, ok := info.(interface {
		Owner() string
		OwnerGroup() string
	}); ok {
		return f.Owner(), f.OwnerGroup()
	}
	return "", ""
}

// cleanName refuses names that are not absolute, which would name different files in different processes.
func cleanName(op, name string) (string, error) {
	if !path.IsAbs(name) {
		return "", &fs.PathError{Op: op, Path: name, Err: errors.New("the path is not absolute")}
	}
	return path.Clean(name), nil
}
