package verify

import (
	"context"
	"errors"
	"hash/crc32"
	"io"

	"bulkload/internal/model/fail"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/setting"

	"golang.org/x/sync/errgroup"
)

// summed is a file system that can return the CRC-32C of a file without reading it, like HDFS.
type summed interface {
	CRC32C(ctx context.Context, name string) (sum uint32, size int64, err error)
}

// sums compares the checksums of all files with those of the written files, and searches for copies of them.
func (s *Stores) sums(ctx context.Context, v *survey) error {
	g, each := errgroup.WithContext(ctx)
	g.SetLimit(asksAtATime)
	for i := range v.files {
		g.Go(func() error {
			f := &v.files[i]
			if f.file.CRC32C == 0 {
				return fail.With(fail.Verify, setting.Errorf("%s: the journal does not have its checksum (verify with %s sample or full)", f.file.Path, setting.Verify))
			}
			sum, read, err := s.sum(each, f.at.path)
			if err != nil {
				return err
			}
			if f.read = read; sum != f.file.CRC32C {
				return fail.Errorf(fail.Verify, "%s has other bytes in the store, as %s, than were written: their CRC-32C is %08x, want %08x", f.file.Path, f.at.path, sum, f.file.CRC32C)
			}
			return nil
		})
	}
	for _, other := range v.spare {
		g.Go(func() error {
			sum, _, err := s.sum(each, other.path)
			if err != nil {
				return err
			}
			for i := range v.files {
				if f := &v.files[i].file; f.Size == other.size && f.CRC32C == sum && f.Family == other.family {
					return fail.Errorf(fail.Verify, "%s is a second copy of %s, and in service", other.path, f.Path)
				}
			}
			return nil
		})
	}
	return g.Wait()
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
