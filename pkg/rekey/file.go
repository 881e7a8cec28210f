package rekey

import (
	"context"
	"encoding/binary"
	"path"
	"strconv"

	"bulkload/pkg/build"
	"bulkload/pkg/filecheck"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/hfile"
	"bulkload/pkg/manifest"
)

// file is an HFile of one region and family while it is written.
type file struct {
	manifest.File
	family  []byte
	writing string // its name until it is complete
	sink    hdfsio.Writer
	out     *hdfsio.Overlapped
	hfile   *hfile.Writer
}

// create opens the file of a family. Each attempt has names of its own: the file
// of a failed one may still be open to a lease.
func (r *regionFiles) create(ctx context.Context, family int) (*file, error) {
	settings := r.plan.Families[family]
	name := r.plan.fileName(settings.Name, r.region)
	f := &file{family: []byte(settings.Name), writing: path.Join(r.out.Dir, build.WritingDir, name+"."+strconv.Itoa(r.attempt))}
	f.Name, f.File.Family, f.Region = path.Join(settings.Name, name), settings.Name, r.region
	var err error
	if f.sink, err = r.out.Create(ctx, f.writing, hdfsio.CreateOptions{Perm: r.out.FileMode, BlockSize: r.blockSize(settings.Compression)}); err != nil {
		return nil, err
	}
	f.out = hdfsio.NewOverlapped(f.sink, r.o.Events.Written)
	if f.hfile, err = hfile.NewWriter(f.out, r.plan.hfileOptions(settings)); err != nil {
		f.abort()
		return nil, err
	}
	return f, nil
}

// blockSize is that of the file on HDFS, as build's writers choose it: room for
// the region's cells in one block.
func (r *regionFiles) blockSize(c hfile.Compression) int64 {
	const unit, most = 1 << 20, 8 << 30
	bound := r.size
	if c != hfile.CompressionNone {
		bound /= 2
	}
	return min(bound/unit*unit+4*unit, most)
}

func (f *file) abort() {
	_ = f.out.Drain() // what is not wanted need not have arrived
	_ = f.sink.Abort()
}

// abort gives up the files that have no name yet. What stays of them lies in
// the directory of incomplete files.
func (r *regionFiles) abort() {
	for _, f := range r.files {
		if f != nil && f.sink != nil {
			f.abort()
		}
	}
}

// finish completes the files, reads back what each says of itself, and gives
// them their names.
func (r *regionFiles) finish(ctx context.Context) (all []manifest.File, err error) {
	for _, f := range r.files {
		if f == nil {
			continue
		}
		if err := r.complete(ctx, f); err != nil {
			return nil, err
		}
		all = append(all, f.File)
	}
	return all, nil
}

func (r *regionFiles) complete(ctx context.Context, f *file) error {
	stats, err := f.hfile.Finish()
	if err != nil {
		return err
	}
	f.FirstRow, f.LastRow, f.Cells, f.Bytes = stats.FirstRow, stats.LastRow, stats.Cells, stats.Bytes
	if err := f.out.Drain(); err != nil {
		return err
	}
	if err := f.sink.Finish(); err != nil {
		return err
	}
	f.sink = nil
	f.CRC32C = f.out.Sum
	fsys := r.out.FS
	if err := filecheck.Written(ctx, fsys, f.writing, f.File); err != nil {
		return err
	}
	info, err := fsys.Stat(ctx, f.writing)
	if err != nil {
		return err
	}
	f.FileID, _ = hdfsio.FileID(info)
	name := path.Join(r.out.Dir, f.Name)
	if r.attempt > 0 { // an earlier attempt may have named it, whatever was answered
		if _, err := fsys.Stat(ctx, name); err == nil {
			if err := fsys.Remove(ctx, name); err != nil {
				return err
			}
		}
	}
	return fsys.Rename(ctx, f.writing, name)
}

// tagTTL is HBase's TagType.TTL_TAG_TYPE (2.6.4): its value is 8 bytes of
// milliseconds, counted from the cell's timestamp.
const tagTTL = 8

// lifetime is the shorter one of a family's and of a cell's own, in milliseconds.
func lifetime(family int64, tags []byte) int64 {
	for len(tags) > 3 {
		n := 2 + int(binary.BigEndian.Uint16(tags))
		if n > len(tags) {
			break
		}
		if tags[2] == tagTTL && n == 3+8 {
			if own := int64(binary.BigEndian.Uint64(tags[3:])); own >= 0 {
				family = min(family, own)
			}
		}
		tags = tags[n:]
	}
	return family
}
