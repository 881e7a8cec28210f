package listing

import (
	"fmt"
	"reflect"
)

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
