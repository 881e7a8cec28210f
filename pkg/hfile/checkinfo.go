package hfile

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
)

// proveTrailerForm checks that the trailer holds its fields and nothing else.
func (c *checker) proveTrailerForm() error {
	t := &c.reader.trailer
	if !slices.Contains(cellComparators, t.comparator) {
		return fmt.Errorf("%w: the trailer's comparator is %.100q", ErrCorrupt, t.comparator)
	}
	b := make([]byte, trailerSize)
	if n, err := c.reader.blocks.r.ReadAt(b, c.reader.blocks.limit); n < trailerSize {
		return fmt.Errorf("read the trailer at offset %d: %w", c.reader.blocks.limit, cmp.Or(err, io.ErrUnexpectedEOF))
	}
	if want := t.marshalAs(t.comparator, t.minor); !bytes.Equal(b, want) {
		return fmt.Errorf("%w: the trailer at offset %d is not written as its fields require, from byte %d", ErrCorrupt, c.reader.blocks.limit, commonPrefix(b, want))
	}
	return nil
}

// proveTrailer compares the trailer's fields with the results of the walk.
func (c *checker) proveTrailer() {
	t, l := &c.reader.trailer, &c.layout
	for _, f := range []struct {
		what      string
		says, are int64
	}{
		{"cells", t.cells, c.cells.stats.cells},
		{"meta blocks", t.metaIndexEntries, int64(l.metas)},
		{"offset of the first data block", t.firstData, l.firstData},
		{"offset of the last data block", t.lastData, l.lastData},
		{"uncompressed bytes of the data index", t.dataIndexUncompressed, l.index},
		{"uncompressed bytes", t.totalUncompressed, l.total},
	} {
		if f.says != f.are {
			c.failf("trailer: %s %d, found %d", f.what, f.says, f.are)
		}
	}
}

// infoLengths are the lengths that HBase requires of values before it reads
// them (HFileInfo, HStoreFile and StoreFileReader, 2.6.4).
var infoLengths = []struct {
	key string
	n   int
}{
	{infoAvgKeyLen, 4}, {infoAvgValueLen, 4}, {infoKVVersion, 4}, {infoMaxMemstoreTS, 8}, {infoCreateTime, 8},
	{infoBiggestLen, 8}, {infoMaxTagsLen, 4}, {infoTagsPacked, 1}, {infoDeleteCount, 8}, {infoEarliestPut, 8},
	{infoBulkTime, 8}, {infoMajor, 1}, {infoExclude, 1}, {infoHistorical, 1}, {infoMaxSeqID, 8}, {infoSkipResetSeqID, 1},
}

// File info keys that no bulk load writes.
const (
	infoMaxSeqID       = "MAX_SEQ_ID_KEY"
	infoSkipResetSeqID = "SKIP_RESET_SEQ_ID"
	infoIndexEncoding  = "INDEX_BLOCK_ENCODING"
)

// proveInfoForm checks the parts of the file info that determine how the rest of the
// file is read: it must hold pairs and nothing else, each key once, and valid settings.
func (c *checker) proveInfoForm() error {
	info := c.reader.info
	blk, err := c.aside.read(c.reader.trailer.fileInfo)
	if err != nil {
		return err
	}
	bad := func(format string, args ...any) error {
		return fmt.Errorf("%w: file info at offset %d: %s", ErrCorrupt, blk.offset, fmt.Sprintf(format, args...))
	}
	entries := make([]infoEntry, len(c.reader.infoOrder))
	for i, k := range c.reader.infoOrder {
		entries[i] = infoEntry{k, info[k]}
	}
	if !bytes.Equal(infoPayload(entries...), blk.payload) {
		return bad("it has bytes that belong to no pair, a key occurs twice, or the pairs are not in order")
	}
	for _, l := range infoLengths {
		if v, ok := info[l.key]; ok && len(v) != l.n {
			return bad("%s has %d bytes, not %d", l.key, len(v), l.n)
		}
	}
	for _, k := range c.reader.infoOrder {
		if known := almostKnown(k); known != "" && info[known] == nil {
			return bad("%.60q looks like %s, which is missing", k, known)
		}
	}
	for _, k := range []string{infoMajor, infoExclude, infoHistorical, infoTagsPacked} {
		if v := info[k]; len(v) == 1 && v[0] != 0 && v[0] != 0xff {
			return bad("%s is %#02x, neither true nor false", k, v[0])
		}
	}
	if v, ok := info[infoEncoding]; ok && string(v) != c.reader.decoder.encoding.String() {
		return bad("%s is %.40q", infoEncoding, v)
	}
	if v, ok := info[infoIndexEncoding]; ok && string(v) != "NONE" {
		return fmt.Errorf("file info at offset %d: %s is %.40q: %w", blk.offset, infoIndexEncoding, v, ErrUnsupported)
	}
	if v, ok := info[infoKVVersion]; ok && (binary.BigEndian.Uint32(v) != 1 || info[infoMaxMemstoreTS] == nil) {
		return bad("%s is %d, and %s has %d bytes", infoKVVersion, int32(binary.BigEndian.Uint32(v)), infoMaxMemstoreTS, len(info[infoMaxMemstoreTS]))
	}
	if _, ok := info[infoBulkTime]; ok && string(info[infoHistorical]) == "\xff" {
		return bad("%s is true in a file for a bulk load", infoHistorical)
	}
	if (info[infoTagsPacked] != nil) != (info[infoMaxTagsLen] != nil) {
		return bad("only one of %s and %s is there", infoTagsPacked, infoMaxTagsLen)
	}
	if (info[infoBiggestKey] != nil) != (info[infoBiggestLen] != nil) {
		return bad("only one of %s and %s is there", infoBiggestKey, infoBiggestLen)
	}
	if (c.bloom != nil) != (info[infoBloomType] != nil) || (c.bloom != nil) != (info[infoLastBloomKey] != nil) {
		return bad("the bloom filter's metadata, %s and %s are not all there", infoBloomType, infoLastBloomKey)
	}
	if c.bloom != nil && (string(info[infoBloomType]) != c.reader.bloom.kind.String() || c.reader.bloom.kind == BloomNone) {
		return bad("%s is %.40q", infoBloomType, info[infoBloomType])
	}
	if v, ok := info[infoBloomParam]; ok && (c.bloom == nil || c.reader.bloom.kind != BloomRowPrefix || len(v) != 4) {
		return bad("%s of %d bytes", infoBloomParam, len(v))
	}
	return nil
}

// knownInfo lists the keys that change how HBase treats a file.
var knownInfo = []string{
	infoBloomType, infoBloomParam, infoBulkTask, infoBulkTime, infoEncoding, infoDeleteCount, infoEarliestPut, infoExclude, infoHistorical,
	infoKVVersion, infoLastBloomKey, infoMajor, infoMaxMemstoreTS, infoTimeRange, infoAvgKeyLen, infoAvgValueLen, infoCreateTime,
	infoBiggestKey, infoLastKey, infoBiggestLen, infoMaxTagsLen, infoTagsPacked, infoMaxSeqID, infoSkipResetSeqID, infoIndexEncoding,
}

// almostKnown returns the known key that differs from the given key in one or two
// bytes. Such a key is probably damaged, and HBase ignores keys that it does not know.
func almostKnown(key string) string {
	for _, known := range knownInfo {
		if len(known) != len(key) || known == key {
			continue
		}
		differ := 0
		for i := range len(key) {
			if key[i] != known[i] {
				differ++
			}
		}
		if differ <= 2 {
			return known
		}
	}
	return ""
}

// proveInfo compares the entries of the file info with the cells. Only the
// averages and, if there are cells, the last key are required.
func (c *checker) proveInfo() {
	s := &c.cells.stats
	i64 := func(v int64) []byte { return binary.BigEndian.AppendUint64(nil, uint64(v)) }
	i32 := func(v int64) []byte { return binary.BigEndian.AppendUint32(nil, uint32(v)) }
	entries := []struct {
		key    string
		want   []byte
		needed bool
	}{
		{infoAvgKeyLen, i32(s.keyBytes / max(s.cells, 1)), true}, {infoAvgValueLen, i32(s.valueBytes / max(s.cells, 1)), true},
		{infoLastKey, c.cells.last.key, s.cells > 0},
		{infoMaxTagsLen, i32(int64(s.maxTags)), false}, {infoMaxMemstoreTS, i64(c.cells.maxSeq), false},
		{infoBiggestLen, i64(s.biggest), false}, {infoBiggestKey, s.biggestKey, false}, {infoDeleteCount, i64(s.deleteFamily), false},
		{infoEarliestPut, i64(s.earliestPut), false}, {infoTimeRange, append(i64(s.minTime), i64(s.maxTime)...), false},
	}
	for _, e := range entries {
		got, ok := c.reader.info[e.key]
		switch {
		case e.key == infoTimeRange:
			got = plainTimeRange(got)
		case e.key == infoMaxMemstoreTS && c.reader.info[infoKVVersion] == nil:
			continue
		}
		if !ok && e.needed {
			c.failf("%s is missing", e.key)
		} else if ok && !bytes.Equal(got, e.want) {
			c.failf("%s is not what the cells say", e.key)
		}
	}
	if c.bloom != nil && !bytes.Equal(c.reader.info[infoLastBloomKey], c.bloom.last) {
		c.failf("%s is not the last key of the bloom filter", infoLastBloomKey)
	}
	if c.delete == nil && c.bloom != nil && c.bloom.meta.kind != BloomRowCol && s.deleteFamily > 0 {
		c.failf("there are delete-family markers but no filter of their rows")
	}
	c.res.BloomFalsePositives = c.bloom.rate()
}

// plainTimeRange returns the first and the last timestamp as two i64, from any
// form that an HBase version writes: 1.4 appends zeros, and a protobuf is read
// too (TimeRangeTracker, 1.4.14 and 2.6.4). Other bytes are returned unchanged.
func plainTimeRange(v []byte) []byte {
	if len(v) != 16 && bytes.HasPrefix(v, []byte("PBUF")) {
		dst := make([]byte, 16)
		err := protoFields(v[4:], func(number int, v uint64, _ []byte) {
			if number == 1 || number == 2 {
				binary.BigEndian.PutUint64(dst[8*(number-1):], v)
			}
		})
		if err == nil {
			return dst
		}
	}
	if len(v) == 32 && len(bytes.Trim(v[16:], "\x00")) == 0 {
		return v[:16]
	}
	return v
}
