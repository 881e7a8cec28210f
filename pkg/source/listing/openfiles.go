package listing

import "context"

// openFiles is a file system, such as HDFS, whose listings do not show that a file is being written.
type openFiles interface {
	// BeingWritten reports whether a writer has the file open, or has died without closing it.
	BeingWritten(ctx context.Context, name string) (bool, error)
}

// notOpen rejects a file that is open for writing. HDFS shows only its complete blocks: most such files have none, so they look empty.
func (f *File) notOpen(ctx context.Context, fsys openFiles) error {
	switch open, err := fsys.BeingWritten(ctx, f.Name); {
	case err != nil:
		return err
	case open:
		return Refuse("%s is open for writing on HDFS: wait until its writer has closed it (a writer that died: hdfs debug recoverLease -path %s)", f.Path, f.Path)
	}
	return nil
}

// closed checks that the file is not being written. An empty file, which may be ignored, is checked once more: its writer may have closed
// it since it was listed. A file with data is compared when it is opened.
func (f *File) closed(ctx context.Context) error {
	fsys, ok := f.FS.(openFiles)
	if !ok {
		return nil
	}
	if err := f.notOpen(ctx, fsys); err != nil || f.Info.Size() > 0 {
		return err
	}
	info, err := f.FS.Stat(ctx, f.Name)
	if err != nil {
		return err
	}
	return f.Same(info)
}
