package listing

import (
	"context"
	"fmt"
	"io/fs"
	"reflect"
	"slices"
	"strings"
	"time"

	"bulkload/pkg/setting"
)

// Identity distinguishes a file from another one of the same name, and from itself with other content.
type Identity struct {
	device, File uint64 // of a local file its device and inode, on HDFS the file id; 0: not known
	Size         int64
	Modified     time.Time
	Changed      time.Time // content or attributes (ctime), which no program can set; zero: not known
	tag          string    // of an object of a store, its ETag or generation, which is part of file too
}

// IdentityOf returns the identity of a file.
func IdentityOf(info fs.FileInfo) Identity {
	i := Identity{Size: info.Size(), Modified: info.ModTime()}
	if f, ok := info.(interface{ FileID() (uint64, bool) }); ok {
		i.File, _ = f.FileID()
		if o, ok := info.(interface{ Tag() string }); ok {
			i.tag = o.Tag()
		}
		return i
	}
	i.device, i.File, i.Changed = sysIdentity(info.Sys())
	return i
}

// differs describes the first difference, from old to new, "" if there is none.
func (i Identity) differs(now Identity) string {
	const layout = "2006-01-02T15:04:05.999999999Z"
	var list []string
	if i.tag != now.tag {
		list = append(list, fmt.Sprintf("it is another object (tag %s, now %s)", i.tag, now.tag))
	} else if i.device != now.device || i.File != now.File {
		list = append(list, fmt.Sprintf("it is another file (inode %d, now %d)", i.File, now.File))
	}
	if i.Size != now.Size {
		list = append(list, fmt.Sprintf("size %s, now %d", setting.Count(i.Size, "byte"), now.Size))
	}
	if !i.Modified.Equal(now.Modified) {
		list = append(list, fmt.Sprintf("modified %s, now %s", i.Modified.UTC().Format(layout), now.Modified.UTC().Format(layout)))
	}
	if !i.Changed.Equal(now.Changed) {
		list = append(list, fmt.Sprintf("content or attributes changed (ctime) %s, now %s", i.Changed.UTC().Format(layout), now.Changed.UTC().Format(layout)))
	}
	return strings.Join(list, ", ")
}

// ChangedError says that the input has changed since it was opened.
type ChangedError struct {
	// Path is the file.
	Path string
	// What has changed, from old to new.
	What string
}

func (e *ChangedError) Error() string {
	return fmt.Sprintf("%s has changed since the job has listed its input: %s", e.Path, e.What)
}

// Same checks that a file has not changed since it was listed.
func (f *File) Same(info fs.FileInfo) error {
	if what := IdentityOf(f.Info).differs(IdentityOf(info)); what != "" {
		return &ChangedError{f.Path, what}
	}
	return nil
}

// Recheck lists inputs again and checks every file that they had. For a file that has changed, is new or is gone it returns a
// [*ChangedError].
func Recheck(ctx context.Context, resolve Resolve, inputs []string, o Options, had []*File) error {
	o.AllowEmpty = true
	now, _, err := List(ctx, resolve, inputs, &o)
	if err != nil {
		return fmt.Errorf("look at the input again: %w", err)
	}
	was := make(map[string]*File, len(had))
	for _, f := range had {
		was[f.Path] = f
	}
	for _, f := range now {
		old := was[f.Path]
		if old == nil {
			return &ChangedError{f.Path, "it is new"}
		}
		if err := old.Same(f.Info); err != nil {
			return err
		}
		delete(was, f.Path)
	}
	// In the order of the input, so that the message is the same every time.
	if i := slices.IndexFunc(had, func(f *File) bool { return was[f.Path] != nil }); i >= 0 {
		f := had[i]
		if info, err := f.FS.Stat(ctx, f.Name); err == nil { // an empty one is left out, and not gone
			if err := f.Same(info); err != nil {
				return err
			}
		}
		return &ChangedError{f.Path, "it is gone"}
	}
	return nil
}

// fileKey identifies a file by any of its names: its name in its file system, its device and number there, or on HDFS, where one cluster
// may have several addresses, its number, length and time.
type fileKey struct {
	fs           any
	name         string
	device, file uint64
	size         int64
	modified     int64 // milliseconds
}

// names detects a file that is listed twice: by one name, by two spellings of one, by links. Loading it once would hide a mistake.
type names struct {
	inputs []string
	files  map[fileKey]*File
}

func (n *names) add(f *File) error {
	system, id := systemKey(f.FS), IdentityOf(f.Info)
	keys := []fileKey{{fs: system, name: f.Name}}
	if id.File != 0 && (id.device != 0 || system != nil) {
		key := fileKey{device: id.device, file: id.File}
		if id.device == 0 {
			key.fs = system // numbers of one cluster
		}
		keys = append(keys, key)
	}
	if id.File != 0 && id.device == 0 {
		keys = append(keys, fileKey{file: id.File, size: id.Size, modified: id.Modified.UnixMilli()})
	}
	for _, key := range keys {
		switch other := n.files[key]; {
		case other == nil:
			n.files[key] = f
		case other.Path == f.Path:
			return fmt.Errorf("the file %s is there twice (it also comes from %s)", f.Path, n.inputs[other.Input])
		default:
			return fmt.Errorf("%s and %s are one file (the latter comes from %s): a link, or another spelling of its name; name it once", f.Path, other.Path, n.inputs[other.Input])
		}
	}
	return nil
}

// systemKey returns a file system as a map key, nil if it is not comparable.
func systemKey(fsys FS) any {
	if t := reflect.TypeOf(fsys); t != nil && t.Comparable() {
		return fsys
	}
	return nil
}
