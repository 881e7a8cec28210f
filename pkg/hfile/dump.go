package hfile

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Dump prints every block, the trailer, the file info and the root index as
// lines of tab-separated fields. For each block it prints two SHA-256 digests:
// of the payload, and of the payload without block offsets, sizes and times.
// The second digest allows a comparison of files whose compressed bytes differ.
func (r *Reader) Dump(out io.Writer) error {
	w := bufio.NewWriterSize(out, 1<<16)
	ordinals, err := r.ordinals()
	if err != nil {
		return err
	}
	fmt.Fprintln(w, "#BLOCK\tordinal\toffset\ttype\ton_disk_size_without_header\tuncompressed_size_without_header\tprev_block_offset\t"+
		"checksum\tchecksum_type\tbytes_per_checksum\tsha256_of_payload\tsha256_of_normalised_payload")
	off := int64(0)
	for i := 0; off < r.blocks.limit; i++ {
		blk, err := r.blocks.read(off)
		if err != nil {
			return err
		}
		plain, err := r.normalised(blk, ordinals)
		if err != nil {
			return fmt.Errorf("%s block at offset %d: %w", blk.name, blk.offset, err)
		}
		sum := "ok"
		if blk.checksum == ChecksumNone {
			sum = "none"
		}
		fmt.Fprintf(w, "BLOCK\t%d\t%d\t%s\t%d\t%d\t%d\t%s\t%d\t%d\t%x\t%x\n", i, off, blk.name, blk.onDisk, blk.uncompressed, blk.prev,
			sum, checksumIDs[blk.checksum], blk.bytesPerSum, sha256.Sum256(blk.payload), sha256.Sum256(plain))
		off = blk.end()
	}
	r.dumpTrailer(w)
	for _, e := range r.infoOrder {
		fmt.Fprintf(w, "FILEINFO\t%s\t%x\n", latin1(e), r.info[e])
	}
	for i := range r.root.len() {
		p := r.root.places[i]
		fmt.Fprintf(w, "ROOT\t%d\t%d\t%d\tblock=%d\t%x\n", i, p.offset, p.size, ordinals.at(p.offset), r.root.key(i))
	}
	if err := r.dumpMidKey(w, ordinals); err != nil {
		return err
	}
	return w.Flush()
}

func (r *Reader) dumpTrailer(w io.Writer) {
	t := &r.trailer
	fmt.Fprintf(w, "TRAILER\tmajor\t%d\nTRAILER\tminor\t%d\n", t.major, t.minor)
	for _, f := range []struct {
		name string
		v    any
	}{
		{"file_info_offset", t.fileInfo}, {"load_on_open_data_offset", t.loadOnOpen},
		{"uncompressed_data_index_size", t.dataIndexUncompressed}, {"total_uncompressed_bytes", t.totalUncompressed},
		{"data_index_count", t.dataIndexEntries}, {"meta_index_count", t.metaIndexEntries}, {"entry_count", t.cells},
		{"num_data_index_levels", t.levels}, {"first_data_block_offset", t.firstData}, {"last_data_block_offset", t.lastData},
		{"comparator_class_name", t.comparator}, {"compression_codec", codecCodes[t.compression]},
	} {
		fmt.Fprintf(w, "TRAILER\t%s\t%v\n", f.name, f.v)
	}
}

func (r *Reader) dumpMidKey(w io.Writer, ordinals ordinals) error {
	d := decbuf{b: r.midKey}
	if d.rest() >= 16 {
		off, size, entry := d.i64(), d.i32(), d.i32()
		fmt.Fprintf(w, "MIDKEYMETA\tleaf_offset=%d\tleaf_on_disk_size=%d\tentry=%d\tblock=%d\n", off, size, entry, ordinals.at(off))
	}
	if d.rest() > 0 {
		fmt.Fprintf(w, "ROOTEXTRA\t%x\n", d.b[d.at:])
	}
	key, err := r.MidKey()
	if err != nil {
		return err
	}
	if key != nil {
		fmt.Fprintf(w, "MIDKEY\t%x\n", key)
	}
	return nil
}

// MidKey returns the index key of the data block in the middle of the file, where
// HBase would split it; nil in a file without cells. The caller owns the result.
func (r *Reader) MidKey() ([]byte, error) {
	if r.root.len() == 0 {
		return nil, nil
	}
	if len(r.midKey) < 16 {
		if r.trailer.levels > 1 {
			return nil, fmt.Errorf("%w: %d index levels and no mid-key metadata", ErrCorrupt, r.trailer.levels)
		}
		return slices.Clone(r.root.key(r.root.len() / 2)), nil
	}
	d := decbuf{b: r.midKey}
	off, _, entry := d.i64(), d.i32(), d.i32()
	blk, err := r.blocks.read(off)
	if err != nil {
		return nil, err
	}
	var x indexEntries
	if blk.kind != kindLeafIndex {
		return nil, fmt.Errorf("%w: a %s block at offset %d, where the mid-key's leaf should be", ErrCorrupt, blk.name, off)
	}
	if err := x.readNonRoot(blk.payload); err != nil {
		return nil, fmt.Errorf("index block at offset %d: %w", off, err)
	}
	if entry < 0 || entry >= x.len() {
		return nil, fmt.Errorf("%w: mid-key is entry %d of %d", ErrCorrupt, entry, x.len())
	}
	return slices.Clone(x.key(entry)), nil
}

// ordinals holds the ascending offsets of a file's blocks; the index of an
// offset is the block's number.
type ordinals []int64

func (r *Reader) ordinals() (ordinals, error) {
	var o ordinals
	for off := int64(0); off < r.blocks.limit; {
		if err := r.blocks.header(off); err != nil {
			return nil, err
		}
		o = append(o, off)
		off = r.blocks.block.end()
	}
	return o, nil
}

// at returns the number of the block at an offset, or -1 if no block starts there.
func (o ordinals) at(off int64) int {
	if i, ok := slices.BinarySearch(o, off); ok {
		return i
	}
	return -1
}

// appendPlain appends index entries with the blocks' numbers in place of their offsets.
func (o ordinals) appendPlain(dst []byte, x *indexEntries) []byte {
	for i, p := range x.places {
		dst = binary.BigEndian.AppendUint64(dst, uint64(int64(o.at(p.offset))))
		dst = binary.BigEndian.AppendUint32(dst, 0)
		dst = append(appendVlong(dst, int64(len(x.key(i)))), x.key(i)...)
	}
	return dst
}

// normalised returns a payload without block places and times.
func (r *Reader) normalised(blk *block, o ordinals) ([]byte, error) {
	var dst []byte
	var x indexEntries
	switch blk.kind {
	case kindLeafIndex, kindIntermediateIndex:
		if err := x.readNonRoot(blk.payload); err != nil {
			return nil, err
		}
		return o.appendPlain(dst, &x), nil
	case kindRootIndex:
		return r.normalisedRoot(blk, o)
	case kindBloomMeta, kindDeleteBloomMeta:
		d := &decbuf{b: blk.payload}
		dst = append(dst, d.bytes(36)...)
		chunks := d.i32()
		dst = binary.BigEndian.AppendUint32(dst, uint32(chunks))
		comparator := d.vbytes()
		dst = append(appendVlong(dst, int64(len(comparator))), comparator...)
		if chunks < 0 || chunks > d.rest() {
			d.fail(fmt.Sprintf("%d chunks", chunks))
			return nil, d.err
		}
		if err := x.readRoot(d, chunks); err != nil {
			return nil, err
		}
		return append(o.appendPlain(dst, &x), d.b[d.at:]...), nil
	case kindFileInfo:
		for _, k := range r.infoOrder {
			v := r.info[k]
			if k == infoCreateTime || strings.HasPrefix(k, "BULKLOAD_") {
				v = nil
			}
			dst = append(appendVlong(dst, int64(len(k))), k...)
			dst = append(appendVlong(dst, int64(len(v))), v...)
		}
		return dst, nil
	}
	return blk.payload, nil
}

func (r *Reader) normalisedRoot(blk *block, o ordinals) ([]byte, error) {
	n := r.trailer.metaIndexEntries
	if blk.offset == r.trailer.loadOnOpen {
		n = r.trailer.dataIndexEntries
	}
	d := &decbuf{b: blk.payload}
	var x indexEntries
	if err := x.readRoot(d, int(n)); err != nil {
		return nil, err
	}
	dst := o.appendPlain(nil, &x)
	if d.rest() >= 16 {
		off := d.i64()
		d.i32()
		dst = binary.BigEndian.AppendUint64(dst, uint64(int64(o.at(off))))
		dst = binary.BigEndian.AppendUint32(dst, 0)
		dst = binary.BigEndian.AppendUint32(dst, uint32(d.i32()))
	}
	return append(dst, d.b[d.at:]...), nil
}

// latin1 decodes the bytes of a key as Latin-1.
func latin1(s string) string {
	r := make([]rune, len(s))
	for i := range len(s) {
		r[i] = rune(s[i])
	}
	return string(r)
}
