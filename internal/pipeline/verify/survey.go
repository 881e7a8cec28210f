package verify

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"hash/crc32"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"bulkload/internal/model/fail"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/loader"
	"bulkload/pkg/setting"

	"golang.org/x/sync/errgroup"
)

// fileState is the state in which a file was found.
type fileState int

const (
	stateNowhere   fileState = iota
	stateServed              // its region has it in service
	stateSplit               // the daughters of its region have references to it in service
	stateCompacted           // in the archive, or in a directory and no longer in service
	stateElsewhere           // in the directory of a region that does not have its rows
)

// foundFile is a file of the load, with its state.
type foundFile struct {
	file  loader.HFile
	state fileState
	at    storedFile
	read  bool // to compute its checksum
}

// storedFile is a file in the directory of a region.
type storedFile struct {
	region, family, path string
	id                   uint64
	size                 int64
	served               bool
}

// survey is the state of a table's stores at one time.
type survey struct {
	regions []loader.Region
	stored  map[uint64]storedFile
	served  map[string][]string // names of a region's files in service, by region and family
	files   []foundFile
	spare   []storedFile // in service, of the size of a file of the load, but not one of them
	others  int          // in service, but not of the load
}

// asksAtATime is the number of stores that are queried concurrently.
const asksAtATime = 8

func (s *Stores) lookOnce(ctx context.Context, c *loader.Cluster, table loader.TableName) (_ *survey, err error) {
	v := &survey{stored: map[uint64]storedFile{}, served: map[string][]string{}}
	if v.regions, err = c.Regions(ctx, table); err != nil {
		return nil, err
	}
	var families []string
	sizes := map[int64]bool{}
	for _, f := range s.Files {
		sizes[f.Size] = true
		if !slices.Contains(families, f.Family) {
			families = append(families, f.Family)
		}
	}
	data := path.Join(s.Root, "data", table.Namespace, table.Qualifier)
	var mu sync.Mutex
	g, each := errgroup.WithContext(ctx)
	g.SetLimit(asksAtATime)
	for _, r := range v.regions {
		for _, family := range families {
			g.Go(func() error {
				names, err := c.StoreFiles(each, r, family)
				if err != nil {
					return err
				}
				list, err := s.list(each, data, r.Encoded, family)
				if err != nil {
					return err
				}
				mu.Lock()
				defer mu.Unlock()
				for i, name := range names {
					names[i] = path.Base(name)
				}
				v.served[r.Encoded+"/"+family] = names
				for _, f := range list {
					f.served = slices.Contains(names, path.Base(f.path))
					v.stored[f.id] = f
				}
				return nil
			})
		}
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	if err := v.find(ctx, s, data, path.Join(s.Root, "archive/data", table.Namespace, table.Qualifier)); err != nil {
		return nil, err
	}
	ours := map[uint64]bool{}
	for _, f := range v.files {
		ours[f.at.id] = true
	}
	for _, f := range v.stored {
		if !ours[f.id] && f.served {
			if v.others++; sizes[f.size] {
				v.spare = append(v.spare, f)
			}
		}
	}
	return v, nil
}

// find locates each file of the load. It reads the directories of former regions, and the archive, only if a file is in none
// of the others.
func (v *survey) find(ctx context.Context, s *Stores, data, archive string) error {
	v.files = make([]foundFile, len(s.Files))
	var lost []*foundFile
	for i, f := range s.Files {
		v.files[i].file = f
		if at, ok := v.stored[f.FileID]; ok && f.FileID != 0 {
			v.files[i].at = at
			v.files[i].state = v.inRegion(f, at)
		} else {
			lost = append(lost, &v.files[i])
		}
	}
	for _, root := range []string{data, archive} {
		if len(lost) == 0 {
			return nil
		}
		old, err := s.all(ctx, root, lost)
		if err != nil {
			return err
		}
		lost = slices.DeleteFunc(lost, func(f *foundFile) bool {
			at, ok := old[f.file.FileID]
			if !ok || f.file.FileID == 0 {
				return false
			}
			f.at, f.state = at, stateCompacted
			if root == data && v.referred(f.file, at) {
				f.state = stateSplit
			}
			return true
		})
	}
	return nil
}

// inRegion returns the state of a file in the directory of a region of the table.
func (v *survey) inRegion(f loader.HFile, at storedFile) fileState {
	i := slices.IndexFunc(v.regions, func(r loader.Region) bool { return r.Encoded == at.region })
	switch r := v.regions[i]; {
	case !r.Contains(f.First) || !r.Contains(f.Last):
		return stateElsewhere
	case at.served:
		return stateServed
	}
	return stateCompacted
}

// referred reports whether all regions that can have rows of a file have a reference or a link to it in service.
func (v *survey) referred(f loader.HFile, at storedFile) bool {
	some := false
	for _, r := range v.regions {
		if bytes.Compare(r.Start, f.Last) > 0 || len(r.End) > 0 && bytes.Compare(r.End, f.First) <= 0 {
			continue
		}
		some = true
		if !slices.ContainsFunc(v.served[r.Encoded+"/"+f.Family], func(name string) bool { return loader.LeadsTo(name, at.region, path.Base(at.path)) }) {
			return false
		}
	}
	return some
}

// all lists the files in the directories of all regions below a root, for the families of some files.
func (s *Stores) all(ctx context.Context, root string, of []*foundFile) (map[uint64]storedFile, error) {
	dirs, err := s.readDir(ctx, root)
	if err != nil {
		return nil, err
	}
	found := map[uint64]storedFile{}
	for _, d := range dirs {
		if !d.IsDir() || strings.HasPrefix(d.Name(), ".") {
			continue
		}
		done := map[string]bool{}
		for _, f := range of {
			if done[f.file.Family] {
				continue
			}
			done[f.file.Family] = true
			list, err := s.list(ctx, root, d.Name(), f.file.Family)
			if err != nil {
				return nil, err
			}
			for _, f := range list {
				found[f.id] = f
			}
		}
	}
	return found, nil
}

// list lists the files in the directory of one family of a region.
func (s *Stores) list(ctx context.Context, root, region, family string) ([]storedFile, error) {
	dir := path.Join(root, region, family)
	infos, err := s.readDir(ctx, dir)
	if err != nil {
		return nil, err
	}
	var list []storedFile
	for _, info := range infos {
		if id, ok := hdfsio.FileID(info); ok && !info.IsDir() {
			list = append(list, storedFile{region: region, family: family, path: path.Join(dir, info.Name()), id: id, size: info.Size()})
		}
	}
	return list, nil
}

// readDir lists a directory, which may be missing.
func (s *Stores) readDir(ctx context.Context, dir string) ([]fs.FileInfo, error) {
	infos, err := s.FS.ReadDir(ctx, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return infos, s.denied(err)
}

// denied adds advice to an error about missing permissions on HBase's directory.
func (s *Stores) denied(err error) error {
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	return fail.With(fail.Check, setting.Errorf("HBase's directory %s may not be read: %w (let the user read its data and archive, by an ACL of HDFS, or verify with %s sample or full)",
		s.Root, err, setting.Verify))
}

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
