package release

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"time"
)

// A File is a file of an archive.
type File struct {
	Name       string // below the archive's directory, with slashes
	Data       []byte
	Executable bool
}

// Archive returns a tar.gz file with the files below a directory, sorted by name.
// The result depends only on the arguments.
func Archive(dir string, files []File, at time.Time) ([]byte, error) {
	files = slices.SortedFunc(slices.Values(files), func(a, b File) int { return cmp.Compare(a.Name, b.Name) })
	var entries []entry
	for i, f := range files {
		if i > 0 && files[i-1].Name == f.Name {
			return nil, fmt.Errorf("%s is in the archive twice", f.Name)
		}
		mode := int64(0o644)
		if f.Executable {
			mode = 0o755
		}
		entries = append(entries, entry{path.Join(dir, f.Name), mode, 0, f.Data})
	}
	data, err := tarOf(entries, at.UTC().Truncate(time.Second), tar.FormatUSTAR)
	if err != nil {
		return nil, err
	}
	return packed(data)
}

type entry struct {
	name string // of a directory with a slash at the end
	mode int64
	user int // and group
	data []byte
}

func tarOf(entries []entry, at time.Time, format tar.Format) ([]byte, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, e := range entries {
		h := &tar.Header{Typeflag: tar.TypeReg, Name: e.name, Mode: e.mode, Uid: e.user, Gid: e.user, Size: int64(len(e.data)), ModTime: at, Format: format}
		if strings.HasSuffix(e.name, "/") {
			h.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(h); err != nil {
			return nil, fmt.Errorf("archive %s: %w", e.name, err)
		}
		if _, err := w.Write(e.data); err != nil {
			return nil, fmt.Errorf("archive %s: %w", e.name, err)
		}
	}
	err := w.Close()
	return b.Bytes(), err
}

// packed compresses data like gzip -n -9.
func packed(data []byte) ([]byte, error) {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := z.Write(data); err != nil {
		return nil, err
	}
	err = z.Close()
	return b.Bytes(), err
}

// readFile reads a file from disk, and returns it with its name in the archive.
func readFile(from, name string) (File, error) {
	info, err := os.Stat(from)
	if err != nil {
		return File{}, err
	}
	b, err := os.ReadFile(from)
	return File{Name: name, Data: b, Executable: info.Mode()&0o100 != 0}, err
}
