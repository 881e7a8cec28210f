package source

import "context"

// openFiles is a file system that lists files while they are written without saying so, as HDFS does.
type openFiles interface {
	// BeingWritten reports whether a writer has the file open, or has died and left it so.
	BeingWritten(ctx context.Context, name string) (bool, error)
}

// CheckClosed refuses files that are open for writing on HDFS. It asks about several at a time, and nothing of a file
// system that cannot say.
func CheckClosed(ctx context.Context, fsys FS, names []string) error {
	open, ok := fsys.(openFiles)
	if !ok {
		return nil
	}
	files := make([]*inputFile, len(names))
	for i, name := range names {
		files[i] = &inputFile{name: name, path: name}
	}
	return each(ctx, files, func(ctx context.Context, f *inputFile) error { return f.notOpen(ctx, open) })
}

// notOpen refuses a file that is open for writing. HDFS shows only its complete blocks: of most files none,
// so that they look empty.
func (f *inputFile) notOpen(ctx context.Context, fsys openFiles) error {
	switch open, err := fsys.BeingWritten(ctx, f.name); {
	case err != nil:
		return err
	case open:
		return refuse("%s is open for writing on HDFS: wait until its writer has closed it (a writer that died: hdfs debug recoverLease -path %s)", f.path, f.path)
	}
	return nil
}

// closed sees that the file is not being written. An empty one, which may be left out, is looked at once more: its writer may
// have closed it since it was listed. One that is read is compared when it is opened.
func (f *inputFile) closed(ctx context.Context) error {
	fsys, ok := f.fs.(openFiles)
	if !ok {
		return nil
	}
	if err := f.notOpen(ctx, fsys); err != nil || f.info.Size() > 0 {
		return err
	}
	info, err := f.fs.Stat(ctx, f.name)
	if err != nil {
		return err
	}
	return f.same(info)
}
