package hdfsio

import (
	"context"
	"errors"
	"io/fs"
	"math"
	"sync"

	"google.golang.org/protobuf/encoding/protowire"

	"bulkload/internal/hadoop/frames"
)

// BeingWritten reports whether a file is open for writing: created or opened for append by a client that has not closed it,
// and whose lease was not recovered. Of such a file Stat and ReadDir say the length without the block that is being
// written (0 while that is the first) or, of a file that is appended to, the length of before; and a time of modification
// from before its writer closes it.
//
// The fact is underConstruction of the LocatedBlocksProto with which ClientNamenodeProtocol.getBlockLocations answers
// (hdfs.proto of Hadoop 2 and 3). No DataNode is asked.
func (h *HDFS) BeingWritten(ctx context.Context, name string) (bool, error) {
	name, err := cleanName("open", name)
	if err != nil {
		return false, err
	}
	var open, told bool
	err = h.retrySession(ctx, "open", name, func(s *session) (err error) {
		open, told, err = s.beingWritten(name)
		return err
	})
	if err == nil && !told {
		err = &fs.PathError{Op: "open", Path: name, Err: errors.New("the namenode does not say whether the file is open for writing")}
	}
	return open, err
}

// beingWritten has the client library ask for the blocks of a file. Checksum is what of it does so for empty files too.
func (s *session) beingWritten(name string) (open, told bool, err error) {
	f, err := s.client.Open(name)
	if err != nil || f.Stat().IsDir() {
		return false, err == nil, err
	}
	s.opens.begin()
	_, err = f.Checksum()
	open, told = s.opens.end()
	if javaClass(err) == "java.io.FileNotFoundException" {
		err = fs.ErrNotExist
	}
	return open, told, err
}

// openWatch looks at the answer to one getBlockLocations for what the client library hides of it, underConstruction. It
// asks for no block: the answer is short then, however large the file, and the library goes to no DataNode.
type openWatch struct {
	mu sync.Mutex
	heard
	asked      bool
	open, told bool
}

// begin has the watch look at the next call.
func (w *openWatch) begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked, w.open, w.told = true, false, false
}

// end gives what was seen since begin.
func (w *openWatch) end() (open, told bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked = false
	w.stop()
	return w.open, w.told
}

// request returns the bytes to send in place of p, which is one whole call.
func (w *openWatch) request(p []byte) []byte {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.asked {
		return p
	}
	messages := w.call(p, "getBlockLocations")
	if messages == nil {
		return p
	}
	w.open, w.told = false, false
	// Of a field that comes twice the last counts. After the end of the file there are no blocks.
	const offset, length = 2, 3
	body := append([]byte{}, messages[2]...)
	body = protowire.AppendVarint(protowire.AppendTag(body, offset, protowire.VarintType), math.MaxInt64)
	body = protowire.AppendVarint(protowire.AppendTag(body, length, protowire.VarintType), 0)
	return joinFrame(messages[0], messages[1], body)
}

// answer takes the next bytes that the NameNode sent.
func (w *openWatch) answer(p []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if messages := w.add(p); len(messages) == 2 { // an exception has no second message
		w.open, w.told = parseUnderConstruction(messages[1])
	}
}

// parseUnderConstruction reads a GetBlockLocationsResponseProto, whose LocatedBlocksProto is field 1. Without
// underConstruction, its field 3, the file is not open.
func parseUnderConstruction(message []byte) (open, ok bool) {
	located, ok := fieldBytes(message, 1)
	if !ok {
		return false, false
	}
	ok = frames.Fields(located, func(field protowire.Number, number uint64, data []byte) {
		if field == 3 && data == nil {
			open = number != 0
		}
	})
	return open && ok, ok
}
