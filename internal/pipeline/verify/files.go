package verify

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"time"

	"bulkload/internal/base/retry"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/result"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/loader"
	"bulkload/pkg/setting"
)

// Stores holds the files that a load has added to a table, and HBase's root directory.
type Stores struct {
	FS   hdfsio.FS
	Root string // HBase's directory on FS (hbase.rootdir), a path; empty: unknown
	// Files are the files that HBase has taken, with their id, size and CRC-32C. For a file that was split or merged
	// during the load, they are the resulting files.
	Files []loader.HFile
	// Counted means that all rows and cells of the table are counted afterwards: then a compacted file needs no sampled row,
	// since files of delete markers have none.
	Counted bool
}

// Root returns the path of HBase's directory on its file system, empty if it is not configured.
func Root(env *cluster.Env) string {
	root := cluster.Root(env.Conf)
	if root == "" {
		return ""
	}
	l, err := env.Conf.Resolve(root)
	if err != nil {
		return ""
	}
	return l.Path
}

// StoresOf returns the stores of the configured directory, without files.
func StoresOf(env *cluster.Env) (*Stores, error) {
	s := &Stores{Root: Root(env)}
	if s.Root == "" {
		return s, nil
	}
	var err error
	s.FS, _, err = env.Resolve(cluster.Root(env.Conf))
	return s, err
}

// Files compares the stores of a table with the written files: each file of the load must be in the directory of a region that
// has it in service, with the id that the load recorded, and the checksums that HDFS keeps of its blocks must be those of the
// written bytes; no other file in service may be a copy of one. Then it compares the rows that [Sample] compares. After a
// split, references to the file must be in service. A file that a compaction has replaced since is in the archive, or no
// longer in service: its rows are verified only by the sample, which must include one of them.
//
// It does not show that the data still match the checksums, which HDFS compares on reading, and it queries one
// replica of each block; nor does it show that every row is served.
func Files(ctx context.Context, c *loader.Cluster, facts *cluster.Facts, m *manifest.Manifest, s *Stores) (*result.Verification, error) {
	v := &result.Verification{Mode: "files", Want: m.Digest}
	if s.Root == "" {
		return v, errNoRoot(facts.Name)
	}
	found, err := s.compare(ctx, func(ctx context.Context) (*survey, error) { return s.lookOnce(ctx, c, facts.Name) })
	if err != nil {
		return v, unread(facts, err)
	}
	sampled, err := Sample(ctx, c, facts, m)
	sampled.Mode, sampled.Files = v.Mode, found.report()
	if err != nil {
		return sampled, err
	}
	for _, f := range found.files {
		if f.state == stateCompacted && !s.Counted && !slices.ContainsFunc(m.Samples, func(s manifest.Sample) bool { return f.holds(s.Key) }) {
			return sampled, unread(facts, fail.With(fail.Verify, setting.Errorf("%s was compacted since, and no sampled row is of it: nothing can be shown of its rows (verify with %s full)", f.file.Path, setting.Verify)))
		}
	}
	return sampled, nil
}

func errNoRoot(table loader.TableName) error {
	return fail.With(fail.Config, setting.Errorf("verify table %s: HBase's directory, hbase.rootdir, is not in the configuration: set it, or verify with %s sample or full", table, setting.Verify))
}

// Readable reports whether the directories of a table's regions can be listed, so that a job that could not be verified by its
// files is refused before it begins. It does not check the archive, which most jobs do not need.
func (s *Stores) Readable(ctx context.Context, facts *cluster.Facts) error {
	if s.Root == "" {
		return errNoRoot(facts.Name)
	}
	for _, r := range facts.Regions[:min(len(facts.Regions), 1)] {
		for _, f := range facts.Families {
			if _, err := s.list(ctx, path.Join(s.Root, "data", facts.Name.Namespace, facts.Name.Qualifier), r.Encoded, f.Name); err != nil {
				return unread(facts, err)
			}
		}
	}
	return nil
}

// holds reports whether a row is between the first and the last row of a file.
func (f *foundFile) holds(row []byte) bool {
	return bytes.Compare(row, f.file.First) >= 0 && bytes.Compare(row, f.file.Last) <= 0
}

// report returns the summary of the files for the result.
func (s *survey) report() *result.StoreFiles {
	r := &result.StoreFiles{Others: s.others}
	for _, f := range s.files {
		r.Files++
		r.Bytes += f.file.Size
		if f.state == stateSplit {
			r.Split++
		}
		if f.state == stateCompacted {
			r.Compacted++
		}
		if f.read {
			r.Read++
		}
	}
	return r
}

const (
	// maxLooks is the number of attempts to find the files. A store may change between two queries, so that a file is in neither response.
	maxLooks = 4
	// patience is how long stores that cannot be queried are tried again: as long as other calls are repeated ([loader.Config.RetryTimeout]).
	patience = 2 * time.Minute
)

// compare finds all files and compares their checksums. It looks again while a region moves or splits, or its server is away, and when a
// compaction has moved a file since the look. Files whose checksums were compared are not asked for them again.
func (s *Stores) compare(ctx context.Context, lookOnce func(context.Context) (*survey, error)) (found *survey, err error) {
	pauses := retry.Policy{First: 200 * time.Millisecond, Most: 2 * time.Second, For: patience}
	compared := map[uint64]bool{}
	var began time.Time // the first failure since the last progress
	for tries, looks := 1, 1; ; tries++ {
		before := len(compared)
		if found, err = lookOnce(ctx); err == nil {
			err = found.missing()
		}
		if err == nil {
			if err = s.sums(ctx, found, compared); !errors.Is(err, fs.ErrNotExist) {
				return found, err
			}
		} else if !loader.Unavailable(err) {
			if looks == maxLooks || fail.KindOf(err) == fail.Check {
				return found, err
			}
			looks++
		}
		if began.IsZero() || len(compared) > before {
			began = time.Now()
		}
		if _, again := pauses.Next(began, tries); !again && tries >= maxLooks { // a look at a large table may take longer
			return found, err
		}
		if e := pauses.Sleep(ctx, tries); e != nil {
			return nil, fmt.Errorf("%w: %w", err, e)
		}
	}
}

// missing returns an error about the first file that is missing, misplaced or of another size.
func (s *survey) missing() error {
	for i := range s.files {
		f := &s.files[i]
		switch f.state {
		case stateNowhere:
			return fail.With(fail.Verify, setting.Errorf("%s was loaded, but is neither in the table's stores nor in its archive: removed, replaced or compacted long ago (%s full checks its rows)", f.file.Path, setting.Verify))
		case stateElsewhere:
			return fail.Errorf(fail.Verify, "%s is in the store as %s, a region that does not have its rows", f.file.Path, f.at.path)
		}
		if f.at.size != f.file.Size {
			return fail.Errorf(fail.Verify, "%s has %s in the store, as %s; %d were written", f.file.Path, setting.Count(f.at.size, "byte"), f.at.path, f.file.Size)
		}
	}
	return nil
}
