package streaming

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
)

// MaxSplitKey is the maximum length of a key in the partition file, in bytes: HBase's limit of a row key.
const MaxSplitKey = 1<<15 - 1

// partitionHead precedes the keys. The sync marker can be any 16 bytes; it does not occur between so few records.
const partitionHead = "SEQ\x06" +
	"\x22org.apache.hadoop.io.BytesWritable" +
	"\x21org.apache.hadoop.io.NullWritable" +
	"\x00\x00" + "\x00\x00\x00\x00" +
	"bulkload-split-1"

// WritePartitions writes the partition file of Hadoop's TotalOrderPartitioner: the first key of every reduce except the
// first, strictly rising as unsigned bytes. A job of R reduces has R−1 keys; Hadoop compares the numbers, and with one
// reduce opens no file. The partitioner must search by comparison, as [Job] configures it: Hadoop's default is a trie that
// sends keys with a byte 0xff to the wrong reduce.
func WritePartitions(w io.Writer, keys [][]byte) error {
	out := []byte(partitionHead)
	for i, key := range keys {
		if len(key) > MaxSplitKey {
			return fmt.Errorf("split key %d of %d has %d bytes, more than %d", i+1, len(keys), len(key), MaxSplitKey)
		}
		if i > 0 && bytes.Compare(keys[i-1], key) >= 0 {
			return fmt.Errorf("split key %d of %d is not above the one before", i+1, len(keys))
		}
		n := uint32(len(key))
		out = binary.BigEndian.AppendUint32(out, 4+n)
		out = binary.BigEndian.AppendUint32(out, 4+n)
		out = binary.BigEndian.AppendUint32(out, n)
		out = append(out, key...)
	}
	_, err := w.Write(out)
	return err
}
