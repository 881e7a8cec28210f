package share

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"bulkload/internal/model/fail"
	"bulkload/internal/model/progress"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/pipeline/cells"
	"bulkload/internal/pipeline/chunk"
	"bulkload/pkg/hdfsio"
)

// directory is a directory of shares.
type directory struct {
	fs    hdfsio.FS
	dir   string
	given string // its name in messages
}

func (d directory) path(name string) string { return path.Join(d.dir, name) }

// attempts holds the descriptions of complete shares, sorted by share and attempt.
type attempts []found

type found struct {
	*Share
	attempt int
}

var shareFile = regexp.MustCompile(`^share-([0-9]{5})-of-([0-9]{5})\.([0-9]{1,9})\.([A-Z2-7]{10})\.json$`)

// maxListings limits how often a directory is listed while descriptions disappear from it.
const maxListings = 10

// list finds the complete shares. It returns an error for a description that cannot be read, or that belongs to another plan. An attempt that
// supersedes another may remove a description after the listing: then its own may be missing there, and the directory is listed again.
func (d directory) list(ctx context.Context, p *Plan) (a attempts, err error) {
	for range maxListings {
		if a, err = d.listOnce(ctx, p); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	return a, err
}

func (d directory) listOnce(ctx context.Context, p *Plan) (attempts, error) {
	entries, err := d.fs.ReadDir(ctx, d.dir)
	if err != nil {
		return nil, fail.With(fail.Input, fmt.Errorf("shares: %w", err))
	}
	a := attempts{}
	for _, e := range entries {
		m := shareFile.FindStringSubmatch(e.Name())
		if m == nil {
			continue
		}
		s := &Share{file: e.Name()}
		if err := ReadSealed(ctx, d.fs, d.path(e.Name()), s, &s.Checksum); err != nil {
			return nil, fail.With(fail.Input, fmt.Errorf("%s: %w (remove it, and build the share again)", d.path(e.Name()), err))
		}
		if s.Plan != p.Checksum || s.Schema != 1 {
			return nil, fail.Errorf(fail.Input, "%s is a share of another plan: each plan needs a directory of its own", d.path(e.Name()))
		}
		k, _ := strconv.Atoi(m[1])
		n, _ := strconv.Atoi(m[2])
		attempt, _ := strconv.Atoi(m[3])
		want := Fraction{k, n}
		if (Fraction{s.Share, s.Shares}) != want || k < 1 || k > n || p.Part(want) != (build.Part{From: s.From, To: s.To}) || !strings.HasPrefix(s.Chunks, want.name("share")+".") || strings.Contains(s.Chunks, "/") {
			return nil, fail.Errorf(fail.Input, "%s does not describe share %s of this plan", d.path(e.Name()), want)
		}
		a = append(a, found{s, attempt})
	}
	slices.SortFunc(a, func(x, y found) int {
		return cmp.Or(x.Share.Share-y.Share.Share, x.attempt-y.attempt, strings.Compare(x.file, y.file))
	})
	return a, nil
}

// of returns the complete attempts of a share.
func (a attempts) of(k int) (all []found) {
	for _, f := range a {
		if f.Share.Share == k {
			all = append(all, f)
		}
	}
	return all
}

// attempt returns the number of a share's last attempt, 0 if there is none.
func (a attempts) attempt(k int) (last int) {
	for _, f := range a.of(k) {
		last = max(last, f.attempt)
	}
	return last
}

// sameShares returns an error if the directory has shares of another division of the input.
func (a attempts) sameShares(n int, dir string) error {
	for _, f := range a {
		if f.Shares != n {
			return fail.Errorf(fail.Config, "%s has a share of %d, and of %d: cut the input into as many, or use another directory", dir, f.Shares, n)
		}
	}
	return nil
}

// supersede removes the attempts of a share that were complete before the current one.
func (d directory) supersede(ctx context.Context, old []found, e progress.Events) error {
	for _, f := range old {
		e.Note("an earlier attempt of the share is removed", "file", f.Chunks)
		// The description first: chunks without one are ignored.
		err := errors.Join(ignoreGone(d.fs.Remove(ctx, d.path(f.file))), ignoreGone(d.fs.Remove(ctx, d.path(f.Chunks))))
		if err != nil {
			return fail.With(fail.HDFS, err)
		}
	}
	return nil
}

// complete returns the shares of the whole input, in order. It returns an error if one is missing, or if two attempts of a share
// have read different rows.
func (d directory) complete(a attempts, plans []*cells.Plan) ([]*Share, error) {
	if len(a) == 0 {
		return nil, fail.Errorf(fail.Input, "%s has no shares of this plan: build them first", d.given)
	}
	n := a[0].Shares
	if err := a.sameShares(n, d.given); err != nil {
		return nil, err
	}
	var all []*Share
	var missing []Fraction
	for k := 1; k <= n; k++ {
		tries := a.of(k)
		if len(tries) == 0 {
			missing = append(missing, Fraction{k, n})
			continue
		}
		last := tries[len(tries)-1]
		for _, f := range tries {
			if !f.Agrees(&last.PartRead) || !slices.EqualFunc(f.Regions, last.Regions, sameRows) {
				return nil, fail.Errorf(fail.Input, "%s and %s are attempts of one share that have read other rows: the input has changed; make another plan", f.file, last.file)
			}
		}
		if err := last.Check(plans); err != nil {
			return nil, fail.With(fail.Input, fmt.Errorf("%s: %w (build the share again)", d.path(last.file), err))
		}
		all = append(all, last.Share)
	}
	if len(missing) > 0 {
		are, them := "are", "them"
		if len(missing) == 1 {
			are, them = "is", "it"
		}
		return nil, fail.Errorf(fail.Input, "%d of %d shares %s missing in %s: %s (build %s, then merge again)", len(missing), n, are, d.given, few(missing), them)
	}
	return all, nil
}

// sameRows compares regions of two attempts. Their chunks may be cut differently.
func sameRows(a, b build.PartRegion) bool {
	return a.Region == b.Region && a.Rows == b.Rows && a.Sum == b.Sum && a.LeftOut == b.LeftOut
}

// openRuns opens the chunks of all shares; closeRuns closes them.
func (d directory) openRuns(ctx context.Context, all []*Share, regions int) (runs []build.PartRun, closeRuns func() error, err error) {
	var opened []io.Closer
	closeOpened := func() error {
		var errs []error
		for _, f := range opened {
			errs = append(errs, f.Close())
		}
		return errors.Join(errs...)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, closeOpened())
		}
	}()
	for _, s := range all {
		f, err := hdfsio.OpenAt(ctx, d.fs, d.path(s.Chunks))
		if err != nil {
			kind := fail.HDFS
			if errors.Is(err, fs.ErrNotExist) {
				kind = fail.Input
			}
			return nil, nil, fail.With(kind, fmt.Errorf("the rows of share %d/%d: %w (build the share again; if it was built again just now, merge again)", s.Share, s.Shares, err))
		}
		opened = append(opened, f)
		if size := f.Info.Size(); size != s.Bytes {
			return nil, nil, fail.Errorf(fail.Input, "%s has %d bytes, share %d/%d wrote %d: build the share again", d.path(s.Chunks), size, s.Share, s.Shares, s.Bytes)
		}
		c, err := chunk.OpenFile(f, s.Bytes, regions, d.path(s.Chunks))
		if err != nil {
			return nil, nil, damagedShare(err)
		}
		if err := sameRegions(c, s, regions); err != nil {
			return nil, nil, fail.With(fail.Input, fmt.Errorf("%s: %w: build the share again", d.path(s.Chunks), err))
		}
		runs = append(runs, build.PartRun{Name: fmt.Sprintf("share %d/%d (%s)", s.Share, s.Shares, s.Chunks), File: c, Read: &s.PartRead})
	}
	return runs, closeOpened, nil
}

// sameRegions returns an error unless a file has rows in exactly the regions in which its share has rows.
func sameRegions(c *chunk.File, s *Share, regions int) error {
	has := map[int]bool{}
	for _, r := range s.Regions {
		has[r.Region] = true
	}
	for i := range regions {
		if (c.Size(i) > 0) != has[i] {
			return fmt.Errorf("it has %d bytes of region %d, which its share knows otherwise", c.Size(i), i)
		}
	}
	return nil
}

// damagedShare adds advice to an error about damaged chunks.
func damagedShare(err error) error {
	if errors.Is(err, chunk.ErrDamaged) {
		return fail.With(fail.Input, fmt.Errorf("%w (build that share again, and merge then)", err))
	}
	if errors.Is(err, chunk.ErrRead) {
		return fail.With(fail.HDFS, err)
	}
	return err
}
