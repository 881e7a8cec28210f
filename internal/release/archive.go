package release

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"os"
	"path"
	"slices"
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
	var out bytes.Buffer
	zip, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	w := tar.NewWriter(zip)
	for i, f := range files {
		if i > 0 && files[i-1].Name == f.Name {
			return nil, fmt.Errorf("%s is in the archive twice", f.Name)
		}
		mode := int64(0o644)
		if f.Executable {
			mode = 0o755
		}
		h := &tar.Header{Typeflag: tar.TypeReg, Name: path.Join(dir, f.Name), Size: int64(len(f.Data)), Mode: mode,
			ModTime: at.UTC().Truncate(time.Second), Format: tar.FormatUSTAR}
		if err := w.WriteHeader(h); err != nil {
			return nil, fmt.Errorf("archive %s: %w", f.Name, err)
		}
		if _, err := w.Write(f.Data); err != nil {
			return nil, fmt.Errorf("archive %s: %w", f.Name, err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	if err := zip.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// sumLine returns the line that sha256sum prints for a file.
func sumLine(name string, data []byte) string {
	return fmt.Sprintf("%x  %s\n", sha256.Sum256(data), name)
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
