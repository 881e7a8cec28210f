package snapshot

import (
	"bytes"
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/tsuna/gohbase/pb"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"bulkload/internal/hadoop/frames"
	"bulkload/pkg/hdfsio"
)

// ErrDamaged is wrapped by errors about a snapshot whose files are missing or
// cannot have been written by HBase.
var ErrDamaged = errors.New("damaged snapshot")

// ErrUnsupported is wrapped by errors about features of HBase with which this
// package could not return the same cells as a Scan.
var ErrUnsupported = errors.New("not supported")

// A Snapshot holds the contents of a snapshot's manifest. Its fields are read-only.
type Snapshot struct {
	Name    string
	Table   string    // as HBase prints it: with the namespace and a colon, unless the namespace is default
	Created time.Time // by the master's clock, before any region was flushed
	Expires time.Time // when HBase deletes it; zero: never
	// Checksum covers all files of the manifest. It changes when a snapshot of the
	// same name is taken again.
	Checksum [sha256.Size]byte
	// Families are sorted by name.
	Families []Family
	// Schema is the table's descriptor at that time, for creating a table like it.
	Schema *pb.TableSchema
	// Regions are sorted and have no gaps or overlaps. Parents of split regions
	// and replicas are omitted.
	Regions []Region

	fsys      hdfsio.FS
	loose     bool // the files belong to no table: a file's name is its path, and the snapshot's name is a directory
	sum       hash.Hash
	root      string // hbase.rootdir
	namespace string
	qualifier string
}

// A Region of a snapshot holds the rows from Start (inclusive) to End (exclusive).
type Region struct {
	Encoded    string // MD5 of the region's name in hexadecimal, also its directory's name
	Start, End []byte // empty at the table's ends
	Files      int    // of all families
	Bytes      int64  // total size of its files; a half counts as its whole file
	ID         uint64

	stores map[string][]storeFile
}

// maxManifest limits the size of a manifest's file. HBase's own limit is 64 MiB
// (snapshot.manifest.size.limit).
const maxManifest = 256 << 20

// snapshotDirectories is HConstants.SNAPSHOT_DIR_NAME.
const snapshotDirectories = ".hbase-snapshot"

// Open reads the manifest of a complete snapshot. root is hbase.rootdir, a path
// on fsys; fsys must stay usable as long as the snapshot is used. If the
// snapshot does not exist, the error is fs.ErrNotExist.
func Open(ctx context.Context, fsys hdfsio.FS, root, name string) (*Snapshot, error) {
	s := &Snapshot{Name: name, fsys: fsys, root: root, sum: sha256.New()}
	if err := s.open(ctx); err != nil {
		return nil, fmt.Errorf("snapshot %s: %w", name, err)
	}
	s.sum.Sum(s.Checksum[:0])
	s.sum = nil
	return s, nil
}

// legalName matches the name of a snapshot or table
// (TableName.isLegalTableQualifierName). Letters of all scripts are allowed.
var legalName = regexp.MustCompile(`^[\pL\pN_][\pL\pN_.-]*$`)

func (s *Snapshot) open(ctx context.Context) error {
	if !legalName.MatchString(s.Name) {
		return errors.New("not a snapshot name")
	}
	dir := path.Join(s.root, snapshotDirectories, s.Name)
	b, err := s.readAll(ctx, path.Join(dir, ".snapshotinfo"))
	if err != nil {
		return err
	}
	if err := s.describe(b); err != nil {
		return fmt.Errorf("%s/.snapshotinfo: %w", dir, err)
	}
	schema, err := s.manifests(ctx, dir)
	if err != nil {
		return err
	}
	if s.Families, err = families(schema); err != nil {
		return err
	}
	s.Schema = schema
	return s.arrange()
}

// describe reads a SnapshotDescription (Snapshot.proto, 2.6).
func (s *Snapshot) describe(b []byte) error {
	var version, ttl, created uint64
	if !frames.Into(b, frames.To{2: &s.Table, 3: &created, 5: &version, 8: &ttl}) {
		return fmt.Errorf("%w: its message does not end where the file does", ErrDamaged)
	}
	if version != 2 {
		return fmt.Errorf("a manifest of version %d: %w (known: 2, of HBase 1.1 and later); take a new snapshot", version, ErrUnsupported)
	}
	s.namespace, s.qualifier = "default", s.Table
	if ns, q, ok := strings.Cut(s.Table, ":"); ok {
		s.namespace, s.qualifier = ns, q
	}
	if !legalName.MatchString(s.namespace) || !legalName.MatchString(s.qualifier) {
		return fmt.Errorf("%w: it names no table", ErrDamaged)
	}
	s.Created = time.UnixMilli(int64(created))
	if ttl > 0 && ttl < neverExpires {
		s.Expires = s.Created.Add(time.Duration(ttl) * time.Second)
		if time.Now().After(s.Expires) {
			return fmt.Errorf("%w: its lifetime of %d s is over, and its files are deleted any moment; take a new snapshot", ErrUnsupported, ttl)
		}
	}
	return nil
}

// manifests reads data.manifest or, if the regions have manifests of their own
// (a snapshot that is not yet consolidated), all of these.
func (s *Snapshot) manifests(ctx context.Context, dir string) (*pb.TableSchema, error) {
	b, err := s.readAll(ctx, path.Join(dir, "data.manifest"))
	if err == nil {
		return s.dataManifest(path.Join(dir, "data.manifest"), b)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	infos, err := s.fsys.ReadDir(ctx, dir)
	if err != nil {
		return nil, err
	}
	for _, info := range infos {
		if !strings.HasPrefix(info.Name(), "region-manifest.") {
			continue
		}
		name := path.Join(dir, info.Name())
		if b, err = s.readAll(ctx, name); err == nil {
			err = s.region(b)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	if len(s.Regions) == 0 {
		return nil, fmt.Errorf("%s: %w: there is neither data.manifest nor any region-manifest", dir, ErrDamaged)
	}
	return s.tableInfo(ctx, path.Join(dir, ".tabledesc"))
}

// dataManifest reads a SnapshotDataManifest.
func (s *Snapshot) dataManifest(name string, b []byte) (*pb.TableSchema, error) {
	schema := new(pb.TableSchema)
	var errs error
	ok := frames.Fields(b, func(field protowire.Number, _ uint64, data []byte) {
		switch {
		case errs != nil:
		case field == 1:
			errs = unmarshal(data, schema)
		case field == 2:
			errs = s.region(data)
		}
	})
	if errs == nil && !ok {
		errs = fmt.Errorf("%w: its message does not end where the file does", ErrDamaged)
	}
	if errs != nil {
		return nil, fmt.Errorf("%s: %w", name, errs)
	}
	return schema, nil
}

// tableInfo reads the newest .tableinfo: PBUF and a TableSchema (FSTableDescriptors).
func (s *Snapshot) tableInfo(ctx context.Context, dir string) (*pb.TableSchema, error) {
	infos, err := s.fsys.ReadDir(ctx, dir)
	if err != nil {
		return nil, err
	}
	newest := ""
	for _, info := range infos { // .tableinfo.0000000001, with a suffix from 2.5 on
		if strings.HasPrefix(info.Name(), ".tableinfo.") {
			newest = max(newest, info.Name())
		}
	}
	b, err := s.readAll(ctx, path.Join(dir, newest))
	if err != nil {
		return nil, err
	}
	body, ok := bytes.CutPrefix(b, []byte("PBUF"))
	schema := new(pb.TableSchema)
	if !ok {
		err = fmt.Errorf("%w: it does not start with PBUF", ErrDamaged)
	} else {
		err = unmarshal(body, schema)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path.Join(dir, newest), err)
	}
	return schema, nil
}

// region adds the region of a SnapshotRegionManifest, unless the region is a
// replica or the parent of a split, whose daughters are in the manifest too.
func (s *Snapshot) region(b []byte) error {
	info := new(pb.RegionInfo)
	r := Region{stores: make(map[string][]storeFile)}
	var errs error
	ok := frames.Fields(b, func(field protowire.Number, _ uint64, data []byte) {
		switch {
		case errs != nil:
		case field == 2:
			errs = unmarshal(data, info)
		case field == 3:
			errs = r.family(data)
		}
	})
	if errs != nil || !ok {
		return errors.Join(errs, fmt.Errorf("%w: a region's manifest", ErrDamaged))
	}
	if info.GetOffline() || info.GetSplit() || info.GetReplicaId() != 0 {
		return nil
	}
	r.Start, r.End, r.ID = info.GetStartKey(), info.GetEndKey(), info.GetRegionId()
	sum := md5.Sum(fmt.Appendf(nil, "%s,%s,%d", s.Table, r.Start, r.ID))
	r.Encoded = hex.EncodeToString(sum[:])
	s.Regions = append(s.Regions, r)
	return nil
}

// arrange sorts the regions and checks that they cover all rows exactly once.
func (s *Snapshot) arrange() error {
	slices.SortFunc(s.Regions, func(a, b Region) int { return bytes.Compare(a.Start, b.Start) })
	end := []byte{}
	for i := range s.Regions {
		r := &s.Regions[i]
		if !bytes.Equal(r.Start, end) || i > 0 && len(end) == 0 {
			return fmt.Errorf("%w: region %s does not begin where the one before ends", ErrDamaged, r.Encoded)
		}
		end = r.End
		for family := range r.stores {
			if !slices.ContainsFunc(s.Families, func(f Family) bool { return f.Name == family }) {
				return fmt.Errorf("%w: region %s has files of a family that the table lacks", ErrDamaged, r.Encoded)
			}
		}
	}
	if len(s.Regions) == 0 || len(end) != 0 {
		return fmt.Errorf("%w: after region %d of %d there are rows without a region", ErrDamaged, len(s.Regions), len(s.Regions))
	}
	return nil
}

func unmarshal(b []byte, m proto.Message) error {
	if err := proto.Unmarshal(b, m); err != nil {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return nil
}

// readAll reads a file of the manifest, of at most maxManifest bytes.
func (s *Snapshot) readAll(ctx context.Context, name string) ([]byte, error) {
	b, err := hdfsio.ReadFile(ctx, s.fsys, name, maxManifest+1)
	if err != nil {
		return nil, err
	}
	if len(b) > maxManifest {
		return nil, fmt.Errorf("%s: %w: more than %d bytes", name, ErrUnsupported, maxManifest)
	}
	fmt.Fprintf(s.sum, "%s %d ", path.Base(name), len(b))
	s.sum.Write(b)
	return b, nil
}
