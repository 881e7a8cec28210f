package hfile

import (
	"encoding/binary"
)

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
	dataIndexEntries      int
	metaIndexEntries      int
	cells                 int64
	levels                int
	firstData             int64
	lastData              int64
	comparator            string
	compression           Compression
	major, minor          int
}

// marshal returns all 4096 bytes. HBase writes every field, including zeros.
func (t *trailer) marshal() []byte { return t.marshalAs(cellComparator, minorVersion) }

// marshalAs is marshal with another comparator and minor version.
func (t *trailer) marshalAs(comparator string, minor int) []byte {
	var body []byte
	field := func(number int, v int64) {
		body = append(body, byte(number<<3))
		body = binary.AppendUvarint(body, uint64(v))
	}
	field(1, t.fileInfo)
	field(2, t.loadOnOpen)
	field(3, t.dataIndexUncompressed)
	field(4, t.totalUncompressed)
	field(5, int64(t.dataIndexEntries))
	field(6, int64(t.metaIndexEntries))
	field(7, t.cells)
	field(8, int64(t.levels))
	field(9, t.firstData)
	field(10, t.lastData)
	body = appendField(body, 11, []byte(comparator))
	field(12, int64(codecs[t.compression].code))
	b := make([]byte, 0, trailerSize)
	b = append(b, trailerMagic...)
	b = binary.AppendUvarint(b, uint64(len(body)))
	b = append(b, body...)
	b = b[:trailerSize]
	binary.BigEndian.PutUint32(b[trailerSize-4:], uint32(minor)<<24|majorVersion)
	return b
}
