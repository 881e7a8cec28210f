package verify

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
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
