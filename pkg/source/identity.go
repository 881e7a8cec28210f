package source

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"bulkload/pkg/setting"
)

// identity distinguishes a file from another one of its name, and from itself with other content.
type identity struct {
	device, file uint64 // of a local file its device and inode, on HDFS the file id; 0: not known
	size         int64
	modified     time.Time
	changed      time.Time // content or attributes (ctime), which no program can set; zero: not known
	tag          string    // of an object of a store, its ETag or generation, which is part of file too
}

func identityOf(info fs.FileInfo) identity {
	i := identity{size: info.Size(), modified: info.ModTime()}
	if f, ok := info.(interface{ FileID() (uint64, bool) }); ok {
		i.file, _ = f.FileID()
		if o, ok := info.(interface{ Tag() string }); ok {
			i.tag = o.Tag()
		}
		return i
	}
	i.device, i.file, i.changed = sysIdentity(info.Sys())
	return i
}

// differs says what is not as it was, from old to new, "" when nothing is.
func (i identity) differs(now identity) string {
	const layout = "2006-01-02T15:04:05.999999999Z"
	var list []string
	if i.tag != now.tag {
		list = append(list, fmt.Sprintf("it is another object (tag %s, now %s)", i.tag, now.tag))
	} else if i.device != now.device || i.file != now.file {
		list = append(list, fmt.Sprintf("it is another file (inode %d, now %d)", i.file, now.file))
	}
	if i.size != now.size {
		list = append(list, fmt.Sprintf("size %s, now %d", setting.Count(i.size, "byte"), now.size))
	}
	if !i.modified.Equal(now.modified) {
		list = append(list, fmt.Sprintf("modified %s, now %s", i.modified.UTC().Format(layout), now.modified.UTC().Format(layout)))
	}
	if !i.changed.Equal(now.changed) {
		list = append(list, fmt.Sprintf("content or attributes changed (ctime) %s, now %s", i.changed.UTC().Format(layout), now.changed.UTC().Format(layout)))
	}
	return strings.Join(list, ", ")
}

// ChangedError says that the input is not what it was when it was opened.
type ChangedError struct {
	// Path is the file.
	Path string
	// What has changed, from old to new.
	What string
}

func (e *ChangedError) Error() string {
	return fmt.Sprintf("%s has changed since the job has listed its input: %s", e.Path, e.What)
}

// same sees that a file is what it was when it was listed.
func (f *inputFile) same(info fs.FileInfo) error {
	if what := identityOf(f.info).differs(identityOf(info)); what != "" {
		return &ChangedError{f.path, what}
	}
	return nil
}

// Recheck lists all inputs again and looks at every file. A file that has changed, is new or is gone gives a
// [*ChangedError].
func (in *Input) Recheck(ctx context.Context) error {
	opts := in.opts
	opts.AllowEmpty = true
	now, err := expand(ctx, in.resolve, in.inputs, &opts)
	if err != nil {
		return fmt.Errorf("look at the input again: %w", err)
	}
	was := make(map[string]*inputFile, len(in.files))
	for _, f := range in.files {
		was[f.path] = f
	}
	for _, f := range now.files {
		old := was[f.path]
		if old == nil {
			return &ChangedError{f.path, "it is new"}
		}
		if err := old.same(f.info); err != nil {
			return err
		}
		delete(was, f.path)
	}
	// In the order of the input, so that the message is the same every time.
	if i := slices.IndexFunc(in.files, func(f *inputFile) bool { return was[f.path] != nil }); i >= 0 {
		f := in.files[i]
		if info, err := f.fs.Stat(ctx, f.name); err == nil { // an empty one is left out, and not gone
			if err := f.same(info); err != nil {
				return err
			}
		}
		return &ChangedError{f.path, "it is gone"}
	}
	return nil
}
