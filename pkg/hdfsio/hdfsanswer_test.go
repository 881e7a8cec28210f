package hdfsio

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"testing"
	"time"

	"bulkload/internal/hadoop/dfs"
	"bulkload/internal/hadoop/frames"
)

// TestHostileNameNodeIsRefused checks responses for which the library would allocate 4 GiB, or panic because a message
// is longer than the rest of the response.
func TestHostileNameNodeIsRefused(t *testing.T) {
	frame := func(b ...byte) []byte { return append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...) }
	for name, c := range map[string]struct {
		answer []byte
		good   bool
	}{
		"4 GiB":                         {[]byte{0xff, 0xff, 0xff, 0xff}, false},
		"a header as long as the frame": {frame(3, 'a', 'b'), false},
		"a message beyond the end":      {frame(1, 'a', 2, 'b'), false},
		"an error has only a header":    {frame(2, 'a', 'b'), true},
		"a header and a message":        {frame(1, 'a', 1, 'b'), true},
		"a header and an empty message": {frame(1, 'a', 0), true},
	} {
		here, there := net.Pipe()
		nn := &conn{PatientConn: &dfs.PatientConn{Conn: here, Timeout: time.Minute}, frames: newNameNodeFilter()}
		go func() { _, _ = there.Write(c.answer) }()
		n, err := nn.Read(make([]byte, 100))
		if _, refused := errors.AsType[*frames.Error](err); refused == c.good || c.good && n == 0 {
			t.Errorf("%s: %d bytes, %v", name, n, err)
		}
		here.Close()
		there.Close()
	}
}

// TestNoChecksumIsAnAnswer checks that a missing checksum is not retried for minutes: the file is read instead.
func TestNoChecksumIsAnAnswer(t *testing.T) {
	if transient(fmt.Errorf("%w: it was written without checksums", ErrNoChecksum)) {
		t.Error("a file without a checksum is asked again")
	}
}
