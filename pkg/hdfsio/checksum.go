package hdfsio

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"google.golang.org/protobuf/encoding/protowire"
	"io/fs"
	"sync"

	"bulkload/internal/hadoop/frames"
)

// ErrNoChecksum is matched by errors of a file system that keeps no checksum from which that of a whole file can be made:
// DataNodes before Hadoop 3.1.1, checksums other than CRC-32C.
var ErrNoChecksum = errors.New("the file system gives no checksum of the whole file")

// CRC32C gives the CRC-32C of a file's bytes, from the checksums that DataNodes keep with its blocks: no data are read, nor
// is it seen whether the data still match them, as a reader of the data sees. Of each block one replica is asked. size is the
// number of bytes that it is of. An error that is ErrNoChecksum says that the file has to be read.
//
// The operation is BLOCK_CHECKSUM with the option COMPOSITE_CRC (datatransfer.proto, Hadoop 3.1.1 and later), as
// `dfs.checksum.combine.mode` COMPOSITE_CRC has Java's getFileChecksum use it.
func (h *HDFS) CRC32C(ctx context.Context, name string) (sum uint32, size int64, err error) {
	name, err = cleanName("checksum", name)
	if err != nil {
		return 0, 0, err
	}
	none := ""
	err = h.retrySession(ctx, "checksum", name, func(s *session) (err error) {
		sum, size, none, err = s.crc32c(name)
		return err
	})
	if err == nil && none != "" {
		err = &fs.PathError{Op: "checksum", Path: name, Err: fmt.Errorf("%w: %s", ErrNoChecksum, none)}
	}
	return sum, size, err
}

// crc32c asks once. none is why there is no checksum.
func (s *session) crc32c(name string) (sum uint32, size int64, none string, err error) {
	f, err := s.client.Open(name)
	if err != nil {
		return 0, 0, "", err
	}
	defer f.Close()
	info := newHDFSInfo(f.Stat())
	if err := info.supported("checksum", name); err != nil {
		return 0, 0, err.Error(), nil
	}
	s.sums.begin()
	_, err = f.Checksum()
	sum, size, none = s.sums.end()
	switch {
	case none != "":
		return 0, 0, none, nil
	case err != nil:
		if cause := s.dataNodeError(); cause != nil {
			err = cause
		}
		return 0, 0, "", err
	case size != info.Size():
		return 0, 0, "", fmt.Errorf("checksums of %d bytes came for a file of %d", size, info.Size())
	}
	return sum, size, "", nil
}

// sumWatch asks DataNodes for the composite CRC of blocks in place of the MD5 of their checksums, which is all that the
// client library knows, and keeps the answers. The library asks for one block after the other.
type sumWatch struct {
	mu    sync.Mutex
	asked bool
	sum   uint32
	size  int64
	none  string // why there is no checksum
}

func (w *sumWatch) begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked, w.sum, w.size, w.none = true, 0, 0, ""
}

func (w *sumWatch) end() (sum uint32, size int64, none string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked = false
	return w.sum, w.size, w.none
}

func (w *sumWatch) wanted() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.asked
}

func (w *sumWatch) add(sum uint32, size int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sum = combineCRC(w.sum, sum, size)
	w.size += size
}

func (w *sumWatch) without(why string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.none = why
}

// checksumOp is how a request for the checksum of a block begins: version 28 of the data transfer protocol, BLOCK_CHECKSUM.
const checksumOp = "\x00\x1c\x55"

// Numbers of datatransfer.proto and hdfs.proto, Hadoop 3.4.
const (
	blockChecksumOptions = 2 // of OpBlockChecksumProto
	checksumType         = 1 // of BlockChecksumOptionsProto
	compositeCRC         = 2 // a BlockChecksumTypeProto
	crc32cType           = 2 // a ChecksumTypeProto
)

// compositeRequest is a request for a block's checksum with the option, and the block's length. It is false for what is no
// such request.
func compositeRequest(p []byte) (request []byte, size int64, ok bool) {
	if len(p) < len(checksumOp) || string(p[:len(checksumOp)]) != checksumOp {
		return nil, 0, false
	}
	body, n := protowire.ConsumeBytes(p[len(checksumOp):])
	if n < 0 || n != len(p)-len(checksumOp) {
		return nil, 0, false
	}
	base, ok1 := fieldBytes(body, 1)
	block, ok2 := fieldBytes(base, 1)
	if !ok1 || !ok2 {
		return nil, 0, false
	}
	const numBytes = 4
	if !frames.Fields(block, func(field protowire.Number, number uint64, data []byte) {
		if field == numBytes && data == nil {
			size = int64(number)
		}
	}) || size < 0 {
		return nil, 0, false
	}
	options := protowire.AppendVarint(protowire.AppendTag(nil, checksumType, protowire.VarintType), compositeCRC)
	body = protowire.AppendBytes(protowire.AppendTag(append([]byte{}, body...), blockChecksumOptions, protowire.BytesType), options)
	return protowire.AppendBytes([]byte(checksumOp), body), size, true
}

// sumReader is the answer to a request for a block's checksum, as it comes.
type sumReader struct {
	to   *sumWatch
	size int64 // of the block
	got  []byte
	done bool
}

// mostSum bounds an answer, in bytes: a checksum, and the text of a refusal.
const mostSum = 64 << 10

// add takes the next bytes of the answer. An error is of a DataNode that cannot say.
func (r *sumReader) add(p []byte) error {
	if r.done {
		return nil
	}
	r.got = append(r.got, p...)
	length, n := protowire.ConsumeVarint(r.got)
	switch {
	case n < 0 && len(r.got) < binary.MaxVarintLen64:
		return nil
	case n < 0 || length > mostSum:
		return errors.New("BLOCK_CHECKSUM: an answer is malformed")
	case uint64(len(r.got)-n) < length:
		return nil
	}
	r.done = true
	sum, none, err := parseSum(r.got[n : n+int(length)])
	switch {
	case err != nil:
		return err
	case none != "":
		r.to.without(none)
	default:
		r.to.add(sum, r.size)
	}
	return nil
}

// parseSum reads a BlockOpResponseProto. none is why it has no CRC-32C of the block.
func parseSum(message []byte) (sum uint32, none string, err error) {
	var status uint64
	var answer []byte
	text := ""
	ok := frames.Fields(message, func(field protowire.Number, number uint64, data []byte) {
		switch field {
		case 1:
			status = number
		case 3:
			answer = data
		case 5:
			text = string(data)
		}
	})
	if !ok {
		return 0, "", errors.New("BLOCK_CHECKSUM: an answer is malformed")
	}
	if status != 0 || answer == nil {
		return 0, "", fmt.Errorf("BLOCK_CHECKSUM: status %d %s", status, text)
	}
	var kind, how uint64
	var value []byte
	ok = frames.Fields(answer, func(field protowire.Number, number uint64, data []byte) {
		switch field {
		case 3:
			value = data
		case 4:
			kind = number
		case 5:
			frames.Fields(data, func(field protowire.Number, number uint64, data []byte) {
				if field == checksumType && data == nil {
					how = number
				}
			})
		}
	})
	switch {
	case !ok:
		return 0, "", errors.New("BLOCK_CHECKSUM: an answer is malformed")
	case how != compositeCRC:
		return 0, "its DataNodes are older than Hadoop 3.1.1", nil
	case kind != crc32cType:
		return 0, "its checksums are no CRC-32C (dfs.checksum.type)", nil
	case len(value) != 4:
		return 0, "", fmt.Errorf("BLOCK_CHECKSUM: a checksum of %d bytes", len(value))
	}
	return binary.BigEndian.Uint32(value), "", nil
}
