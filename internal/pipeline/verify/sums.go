package verify

import (
	"cmp"
	"context"
	"errors"
	"hash/crc32"
	"io"
	"io/fs"
	"maps"
	"sync"

	"bulkload/internal/model/fail"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/setting"

	"golang.org/x/sync/errgroup"
)

// summed is a file system that can return the CRC-32C of a file without reading it, like HDFS.
type summed interface {
	CRC32C(ctx context.Context, name string) (sum uint32, size int64, err error)
}

// sums compares the checksums of all files with those of the written files, and searches for copies of them. It omits the files in compared, by
// their ids, and adds to it those that passed; the value says whether the file was read. A file that is there no longer does not end the
// comparison of the others; its error is returned if there is no other.
func (s *Stores) sums(ctx context.Context, v *survey, compared map[uint64]bool) error {
	g, each := errgroup.WithContext(ctx)
	g.SetLimit(asksAtATime)
	var mu sync.Mutex // guards what follows
	var gone error
	passed := map[uint64]bool{}
	compare := func(at storedFile, with func(sum uint32) error) {
		if _, ok := compared[at.id]; ok {
			return
		}
		g.Go(func() error {
			sum, read, err := s.sum(each, at.path)
			if err == nil {
				err = with(sum)
			}
			mu.Lock()
			defer mu.Unlock()
			if errors.Is(err, fs.ErrNotExist) {
				gone, err = err, nil
			} else if err == nil {
				passed[at.id] = read
			}
			return err
		})
	}
	for _, f := range v.files {
		compare(f.at, func(sum uint32) error {
			switch f.file.CRC32C {
			case 0:
				return fail.With(fail.Verify, setting.Errorf("%s: the journal does not have its checksum (verify with %s sample or full)", f.file.Path, setting.Verify))
			case sum:
				return nil
			}
			return fail.Errorf(fail.Verify, "%s has other bytes in the store, as %s, than were written: their CRC-32C is %08x, want %08x", f.file.Path, f.at.path, sum, f.file.CRC32C)
		})
	}
	for _, other := range v.spare {
		compare(other, func(sum uint32) error {
			for i := range v.files {
				if f := &v.files[i].file; f.Size == other.size && f.CRC32C == sum && f.Family == other.family {
					return fail.Errorf(fail.Verify, "%s is a second copy of %s, and in service", other.path, f.Path)
				}
			}
			return nil
		})
	}
	err := g.Wait()
	maps.Copy(compared, passed)
	for i := range v.files {
		v.files[i].read = compared[v.files[i].at.id]
	}
	return cmp.Or(err, gone)
}

// sum returns the CRC-32C of a file, from the checksums of HDFS, or else by reading the file.
func (s *Stores) sum(ctx context.Context, name string) (sum uint32, read bool, err error) {
	if fsys, ok := s.FS.(summed); ok {
		sum, _, err := fsys.CRC32C(ctx, name)
		if !errors.Is(err, hdfsio.ErrNoChecksum) {
			return sum, false, s.denied(err)
		}
	}
	f, err := s.FS.Open(ctx, name)
	if err != nil {
		return 0, true, s.denied(err)
	}
	defer f.Close()
	h := crc32.New(crc32.MakeTable(crc32.Castagnoli))
	_, err = io.CopyBuffer(h, struct{ io.Reader }{f}, make([]byte, 1<<20))
	return h.Sum32(), true, s.denied(err)
}
