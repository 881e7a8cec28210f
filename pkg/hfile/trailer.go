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
