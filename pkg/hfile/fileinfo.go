package hfile

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"
)

// fileStats holds the statistics of the cells that the file info stores.
type fileStats struct {
	cells        int64
	keyBytes     int64
	valueBytes   int64
	biggest      int64  // 12 + key + value, and 2 + tags if there are any
	biggestKey   []byte // of the first cell with that length
	minTime      int64
	maxTime      int64
	earliestPut  int64
	deleteFamily int64
	maxTags      int
	firstRow     []byte
}

func newFileStats() fileStats {
	return fileStats{minTime: math.MaxInt64, maxTime: -1, earliestPut: LatestTimestamp}
}

// addRow records the row and the timestamp that the puts of one row share. The caller counts the cells.
func (s *fileStats) addRow(row []byte, ts int64) {
	if s.cells == 0 {
		s.firstRow = append([]byte(nil), row...)
	}
	s.minTime, s.maxTime = min(s.minTime, ts), max(s.maxTime, ts)
	s.earliestPut = min(s.earliestPut, ts)
}

func (s *fileStats) add(c *flat) {
	if s.cells == 0 {
		s.firstRow = append([]byte(nil), c.row()...)
	}
	s.cells++
	s.keyBytes += int64(len(c.key))
	s.valueBytes += int64(len(c.value))
	size := int64(len(c.key)) + int64(len(c.value)) + 12
	if len(c.tags) > 0 {
		size += 2 + int64(len(c.tags))
		s.maxTags = max(s.maxTags, len(c.tags))
	}
	if size > s.biggest {
		s.biggest = size
		s.biggestKey = append(s.biggestKey[:0], c.key...)
	}
	ts := c.timestamp()
	s.minTime, s.maxTime = min(s.minTime, ts), max(s.maxTime, ts)
	switch c.typ() {
	case Put:
		s.earliestPut = min(s.earliestPut, ts)
	case DeleteColumn, DeleteFamily:
		s.minTime = min(s.minTime, 0) // these markers cover every timestamp down to 0 (TimeRangeTracker, 2.6.4)
	}
}

// File info keys that readers and loaders read (HStoreFile and HFileInfo, 2.6.4).
const (
	infoBloomType     = "BLOOM_FILTER_TYPE"
	infoBloomParam    = "BLOOM_FILTER_PARAM"
	infoBulkTask      = "BULKLOAD_SOURCE_TASK"
	infoBulkTime      = "BULKLOAD_TIMESTAMP"
	infoEncoding      = "DATA_BLOCK_ENCODING"
	infoDeleteCount   = "DELETE_FAMILY_COUNT"
	infoEarliestPut   = "EARLIEST_PUT_TS"
	infoExclude       = "EXCLUDE_FROM_MINOR_COMPACTION"
	infoHistorical    = "HISTORICAL"
	infoKVVersion     = "KEY_VALUE_VERSION"
	infoLastBloomKey  = "LAST_BLOOM_KEY"
	infoMajor         = "MAJOR_COMPACTION_KEY"
	infoMaxMemstoreTS = "MAX_MEMSTORE_TS_KEY"
	infoMobRefs       = "MOB_FILE_REFS"
	infoTimeRange     = "TIMERANGE"
	infoAvgKeyLen     = "hfile.AVG_KEY_LEN"
	infoAvgValueLen   = "hfile.AVG_VALUE_LEN"
	infoCreateTime    = "hfile.CREATE_TIME_TS"
	infoBiggestKey    = "hfile.KEY_OF_BIGGEST_CELL"
	infoLastKey       = "hfile.LASTKEY"
	infoBiggestLen    = "hfile.LEN_OF_BIGGEST_CELL"
	infoMaxTagsLen    = "hfile.MAX_TAGS_LEN"
	infoTagsPacked    = "hfile.TAGS_COMPRESSED"
)

// infoEntry is one key-value pair of the file info.
type infoEntry struct {
	key   string
	value []byte
}

// fileInfo returns the payload of the file info block: PBUF, then a delimited
// protobuf of pairs in the byte order of their keys.
func (w *Writer) fileInfo() []byte {
	s := &w.info
	i64 := func(v int64) []byte { return binary.BigEndian.AppendUint64(nil, uint64(v)) }
	i32 := func(v int) []byte { return binary.BigEndian.AppendUint32(nil, uint32(v)) }
	flag := func(b bool) []byte {
		if b {
			return []byte{0xff}
		}
		return []byte{0}
	}
	average := func(sum int64) []byte { return i32(int(sum / max(s.cells, 1))) }
	entries := []infoEntry{
		{infoBulkTask, []byte(w.options.Task)},
		{infoBulkTime, i64(w.options.BulkloadTime)},
		{infoDeleteCount, i64(s.deleteFamily)},
		{infoEarliestPut, i64(s.earliestPut)},
		{infoExclude, flag(w.options.ExcludeFromMinorCompaction)},
		{infoHistorical, flag(false)},
		{infoKVVersion, i32(1)},
		{infoMajor, flag(true)},
		{infoMaxMemstoreTS, i64(0)},
		{infoTimeRange, append(i64(s.minTime), i64(s.maxTime)...)},
		{infoAvgKeyLen, average(s.keyBytes)},
		{infoAvgValueLen, average(s.valueBytes)},
		{infoCreateTime, i64(w.options.CreateTime)},
		{infoMaxTagsLen, i32(s.maxTags)},
		{infoTagsPacked, flag(false)},
	}
	if s.cells > 0 {
		entries = append(entries, infoEntry{infoLastKey, w.prev.key},
			infoEntry{infoBiggestKey, s.biggestKey}, infoEntry{infoBiggestLen, i64(s.biggest)})
	}
	if len(w.options.MobRefs) > 0 {
		entries = append(entries, infoEntry{infoMobRefs, w.options.MobRefs})
	}
	if w.options.Encoding != EncodingNone {
		entries = append(entries, infoEntry{infoEncoding, []byte(w.options.Encoding.String())})
	}
	if w.bloom != nil && w.bloom.total > 0 {
		entries = append(entries, infoEntry{infoBloomType, []byte(w.options.Bloom.String())},
			infoEntry{infoLastBloomKey, w.bloom.lastKey})
		if w.options.Bloom == BloomRowPrefix {
			entries = append(entries, infoEntry{infoBloomParam, i32(w.options.BloomPrefix)})
		}
	}
	return infoPayload(entries...)
}

// infoPayload returns the payload of a file info with the given pairs, which it sorts.
func infoPayload(entries ...infoEntry) []byte {
	slices.SortFunc(entries, func(a, b infoEntry) int { return strings.Compare(a.key, b.key) })
	var body []byte
	for _, e := range entries {
		pair := appendField(nil, 1, []byte(e.key))
		pair = appendField(pair, 2, e.value)
		body = appendField(body, 1, pair)
	}
	dst := append([]byte("PBUF"), binary.AppendUvarint(nil, uint64(len(body)))...)
	return append(dst, body...)
}

// appendField appends a length-delimited protobuf field.
func appendField(dst []byte, number int, value []byte) []byte {
	dst = append(dst, byte(number<<3|2))
	dst = binary.AppendUvarint(dst, uint64(len(value)))
	return append(dst, value...)
}

// The trailer (FixedFileTrailer, 2.6.4) has 4096 bytes: a magic, a protobuf,
// zeros, and the version in the last four bytes.
const (
	trailerSize    = 4096
	trailerMagic   = "TRABLK\"$"
	majorVersion   = 3
	minorVersion   = 3
	likelyMajor    = 9                                               // higher versions are treated as damage
	cellComparator = "org.apache.hadoop.hbase.KeyValue$KVComparator" // 2.x and 3.0 write the 1.x name on purpose
)

type trailer struct {
	fileInfo              int64
	loadOnOpen            int64
	dataIndexUncompressed int64
	totalUncompressed     int64
	dataIndexEntries      int64
	metaIndexEntries      int64
	cells                 int64
	levels                int64
	firstData             int64
	lastData              int64
	comparator            string
	compression           Compression
	major, minor          int
}

// numbers returns the places of the protobuf's fields 1 to 10.
func (t *trailer) numbers() [10]*int64 {
	return [...]*int64{&t.fileInfo, &t.loadOnOpen, &t.dataIndexUncompressed, &t.totalUncompressed, &t.dataIndexEntries, &t.metaIndexEntries,
		&t.cells, &t.levels, &t.firstData, &t.lastData}
}

// marshal returns all 4096 bytes. HBase writes every field, including zeros.
func (t *trailer) marshal() []byte { return t.marshalAs(cellComparator, minorVersion) }

// marshalAs is marshal with another comparator and minor version.
func (t *trailer) marshalAs(comparator string, minor int) []byte {
	var body []byte
	for i, v := range t.numbers() {
		body = binary.AppendUvarint(append(body, byte((i+1)<<3)), uint64(*v))
	}
	body = appendField(body, 11, []byte(comparator))
	body = binary.AppendUvarint(append(body, 12<<3), uint64(codecCodes[t.compression]))

	b := make([]byte, 0, trailerSize)
	b = append(b, trailerMagic...)
	b = binary.AppendUvarint(b, uint64(len(body)))
	b = append(b, body...)
	b = b[:trailerSize]
	binary.BigEndian.PutUint32(b[trailerSize-4:], uint32(minor)<<24|majorVersion)
	return b
}
