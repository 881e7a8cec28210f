package hdfsio

import (
	"bytes"
	"sync"

	"google.golang.org/protobuf/encoding/protowire"

	"bulkload/internal/hadoop/frames"
)

// completeWatch remembers the last block that a complete of a file names, and adds it to a later complete of the same file that
// names none.
//
// The NameNode answers "not yet" to a complete while the block before the last is not reported, and has not noted the last one's
// length then (FSDirWriteFileOp.completeFileInternal, Hadoop 3.4). Java's client names the last block each time that it asks; the
// client library does so the first time only, and would get "not yet" for ever.
type completeWatch struct {
	mu         sync.Mutex
	file, last []byte // of the CompleteRequestProto: src, ExtendedBlockProto
	id         uint64 // fileId
}

// The fields of CompleteRequestProto (ClientNamenodeProtocol.proto, Hadoop 2 and 3).
const (
	completeSrc    = 1
	completeLast   = 3
	completeFileID = 4
)

// request returns the bytes to send in place of p, which is one whole call.
func (w *completeWatch) request(p []byte) []byte {
	var a heard
	messages := a.call(p, "complete")
	if messages == nil {
		return p
	}
	file, ok := fieldBytes(messages[2], completeSrc)
	if !ok {
		return p
	}
	id := fileID(messages[2])
	w.mu.Lock()
	defer w.mu.Unlock()
	if last, ok := fieldBytes(messages[2], completeLast); ok {
		w.file, w.id, w.last = bytes.Clone(file), id, bytes.Clone(last)
		return p
	}
	if w.last == nil || !bytes.Equal(file, w.file) || id != w.id {
		return p
	}
	body := protowire.AppendTag(bytes.Clone(messages[2]), completeLast, protowire.BytesType)
	return joinFrame(messages[0], messages[1], protowire.AppendBytes(body, w.last))
}

// forget is called when the session gets another user.
func (w *completeWatch) forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.file, w.id, w.last = nil, 0, nil
}

// fileID is the file's number, 0 where there is none.
func fileID(message []byte) (id uint64) {
	frames.Fields(message, func(field protowire.Number, number uint64, _ []byte) {
		if field == completeFileID {
			id = number
		}
	})
	return id
}
