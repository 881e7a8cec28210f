package loader

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/tsuna/gohbase/pb"
)

// orphan is a file in the directory of a region that may not have it in service. A region reads its directory when it is opened, no later.
// A server that was frozen for so long that its regions were opened elsewhere continues with its renames when it wakes, and so puts files
// where no reader looks. So does a server whose store could not open the file that it had just moved (HStore.bulkLoadHFile, 2.6). The
// tracker FILE keeps a list of its own, and a server that dies between its rename and its entry in the list leaves such a file too
// (StoreFileListFile, 2.6).
type orphan struct {
	path   string
	region Region // the region that should have it, if there is one
	denied bool   // the region itself reports that it lacks the file; otherwise it could not be asked
	err    error  // why it could not be asked, or not be reopened
}

func (o *orphan) explain(s *settling) error {
	if !o.denied {
		return fmt.Errorf("it is in the store as %s, but no region could be asked whether it has it in service: %w", o.path, o.err)
	}
	mend := fmt.Sprintf("move it back to %s as HBase's user, or wait until a compaction has archived it", fsPath(s.to.Path))
	if o.region.Encoded != "" && !s.tracked[s.file.Family] {
		mend = fmt.Sprintf("reopen the region, so that it reads its directory: move '%s' in HBase's shell, with the right ADMIN", o.region.Encoded)
	}
	err := fmt.Errorf("it is in the store as %s, but the region that is in service does not have it: %s", o.path, mend)
	if o.err != nil {
		err = fmt.Errorf("%w (%w)", err, o.err)
	}
	return err
}

// inService returns nil if a region has a file of its directory in service, or if a region made from it by a split or a merge has a
// reference to it. If not, or if that is not known, it returns an orphan.
func (l *load) inService(ctx context.Context, encoded string, f HFile, name string) *orphan {
	o := &orphan{}
	regions, err := l.regionsNow(ctx)
	if err != nil {
		o.err = err
		return o
	}
	asked := false
	for _, r := range regions {
		if r.Encoded != encoded && !r.Contains(f.First) {
			continue
		}
		files, err := l.cluster.StoreFiles(ctx, r, f.Family)
		if err != nil {
			l.cluster.log.Info("a region does not report its store files", "region", r.Encoded, "error", err)
			o.err = err
			continue
		}
		asked = true
		if slices.ContainsFunc(files, func(file string) bool { return LeadsTo(path.Base(file), encoded, name) }) {
			return nil
		}
		if r.Encoded == encoded {
			o.region = r
		}
	}
	if o.denied = asked && o.err == nil; !asked && o.err == nil {
		o.err = errNotAssigned
	}
	return o
}

// LeadsTo reports whether a store file, by its name, is a given file of a region, a reference to it, as the daughters of a split and merged
// regions have them (StoreFileInfo, 2.6), or a link to it, for a file all of whose rows are on one side of the split (HFileLink).
func LeadsTo(base, region, name string) bool {
	return base == name || strings.HasPrefix(base, name+".") || strings.HasSuffix(base, "="+region+"-"+name)
}

// adopt moves the region of an orphan to another server: the region is opened again there and reads its directory. One move per server that
// had the region is enough. If moves are not allowed, or there is no other server, an operator has to reopen the region.
func (l *load) adopt(ctx context.Context, o *orphan, f HFile) error {
	if !o.denied || o.region.Encoded == "" || l.tracked[f.Family] {
		return nil
	}
	l.moving.Lock()
	defer l.moving.Unlock()
	if l.moved[o.region.Encoded] == o.region.Server {
		return nil
	}
	l.cluster.log.Warn("a file is in the directory of a region that does not have it in service; the region is moved to be opened again",
		"file", o.path, "region", o.region.Encoded, "server", o.region.Server)
	if o.err = l.cluster.moveRegion(ctx, o.region); o.err != nil {
		l.cluster.log.Warn("the region could not be moved", "region", o.region.Encoded, "error", o.err)
		return nil // explain reports this
	}
	l.moved[o.region.Encoded] = o.region.Server
	return nil
}

// moveRegion has the master move a region to another server of its choice and waits for the end. On a cluster of one region server nothing
// happens. It needs the right ADMIN on the table.
func (c *Cluster) moveRegion(ctx context.Context, r Region) error {
	req := &pb.MoveRegionRequest{Region: &pb.RegionSpecifier{Type: pb.RegionSpecifier_ENCODED_REGION_NAME.Enum(), Value: []byte(r.Encoded)}}
	if err := c.master(ctx, "MoveRegion", req, &pb.MoveRegionResponse{}); err != nil {
		return fmt.Errorf("move region %s: %w", r.Encoded, err)
	}
	return nil
}
