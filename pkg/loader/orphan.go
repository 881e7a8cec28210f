package loader

import (
	"bytes"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/tsuna/gohbase/pb"
	"golang.org/x/sync/errgroup"
)

// orphan is a file in the directory of a region that may not have it in service. A region reads its directory when it is opened, no later.
// A server that was frozen for so long that its regions were opened elsewhere continues with its renames when it wakes, and so puts files
// where no reader looks. So does a server whose store could not open the file that it had just moved (HStore.bulkLoadHFile, 2.6). The
// tracker FILE keeps a list of its own, and a server that dies between its rename and its entry in the list leaves such a file too
// (StoreFileListFile, 2.6).
type orphan struct {
	path   string
	region Region // that the directory is of, if it is still in service
	denied bool   // all regions with its rows report that they lack the file; otherwise one could not be asked
	err    error  // why it could not be asked, or not be reopened
}

func (o *orphan) explain(s *settling) error {
	if !o.denied {
		return fmt.Errorf("it is in the store as %s, but not all regions could be asked whether they have it in service: %w", o.path, o.err)
	}
	if o.region.Encoded == "" { // to move it would take it from a region with a reference to it
		return fmt.Errorf("it is in the store as %s, of a region that was split or merged since: wait some minutes until HBase has archived it, then run the same command again", o.path)
	}
	mend := fmt.Sprintf("move it back to %s as HBase's user, or wait until a compaction has archived it", fsPath(s.to.Path))
	if !s.tracked[s.file.Family] {
		mend = fmt.Sprintf("reopen the region, so that it reads its directory: move '%s' in HBase's shell, with the right ADMIN", o.region.Encoded)
	}
	err := fmt.Errorf("it is in the store as %s, but the region that is in service does not have it: %s", o.path, mend)
	if o.err != nil {
		err = fmt.Errorf("%w (%w)", err, o.err)
	}
	return err
}

const (
	// mostOwners is the number of regions that are asked for one file at a look. The regions made from one by a split or a merge are two or three.
	mostOwners = 64
	// ownersInFlight of them are asked in parallel: one whose server hangs does not hold up the others.
	ownersInFlight = 8
)

// inService returns nil if a region has a file of its directory in service, or if a region made from it by splits and merges has a reference
// to it: each region with rows of the file is asked, as the others may have compacted theirs. If none has it, or if that is not known, it
// returns an orphan.
func (l *load) inService(ctx context.Context, encoded string, f HFile, name string) *orphan {
	regions, err := l.regionsNow(ctx)
	if err != nil {
		return &orphan{err: err}
	}
	var owners []Region
	for _, r := range regions {
		if r.Encoded == encoded || bytes.Compare(r.Start, f.Last) <= 0 && r.before(f.First) {
			owners = append(owners, r)
		}
	}
	o := &orphan{}
	if len(owners) == 0 {
		o.err = errNotAssigned
	}
	if len(owners) > mostOwners {
		owners, o.err = owners[:mostOwners], fmt.Errorf("%d regions have its rows", len(owners))
	}
	ctx, enough := context.WithCancel(ctx)
	defer enough()
	var g errgroup.Group
	g.SetLimit(ownersInFlight)
	var mu sync.Mutex
	found := false
	for _, r := range owners {
		g.Go(func() error {
			files, err := l.cluster.StoreFiles(ctx, r, f.Family)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case found: // its answer does not matter
			case err != nil:
				l.cluster.log.Info("a region does not report its store files", "region", r.Encoded, "error", err)
				o.err = err
			case slices.ContainsFunc(files, func(file string) bool { return LeadsTo(path.Base(file), encoded, name) }):
				found = true
				enough()
			case r.Encoded == encoded:
				o.region = r
			}
			return nil
		})
	}
	_ = g.Wait()
	if found {
		return nil
	}
	o.denied = o.err == nil
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
