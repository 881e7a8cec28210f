package registry

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"testing"

	"bulkload/internal/hadoop/frames"
)

// TestHostileZooKeeperIsRefused checks that an announced answer of gigabytes from a false ZooKeeper server is rejected.
func TestHostileZooKeeperIsRefused(t *testing.T) {
	connect := make([]byte, 36)
	binary.BigEndian.PutUint32(connect[4:], 4000)
	connect[15], connect[19] = 1, 16
	frame := func(b []byte) []byte { return append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...) }
	get := make([]byte, 16+4)
	get[3] = 1
	binary.BigEndian.PutUint32(get[16:], 1<<31-1)
	for _, c := range []struct {
		answers []byte
		why     string
	}{
		{[]byte{0x7f, 0xff, 0xff, 0xff}, "an answer of 2147483647 bytes is longer than 16777216"},
		{frame(make([]byte, 8)), "an answer of 8 bytes is too short for ZooKeeper"},
		{append(frame(connect), 0xff, 0xff, 0xff, 0xff), "an answer of 4294967295 bytes is longer than 16777216"},
		{append(frame(connect), frame(make([]byte, 15))...), "an answer of 15 bytes is too short for ZooKeeper"},
		{append(frame(connect), frame(get)...), "an answer of 20 bytes says that its data are longer than it is"},
		{frame(connect), ""},
	} {
		here, there := net.Pipe()
		go func() {
			_, _ = there.Write(c.answers)
			there.Close()
		}()
		_, err := io.ReadAll(newZKConn(here))
		if e, ok := errors.AsType[*frames.Error](err); c.why == "" && err != nil || c.why != "" && (!ok || e.Error() != c.why) {
			t.Errorf("%x: %v, want %q", c.answers, err, c.why)
		}
	}
}

// FuzzZnode checks that no znode causes a panic.
func FuzzZnode(f *testing.F) {
	f.Add([]byte("\xff\x00\x00\x00\x01xPBUFrest"))
	f.Add([]byte("\xff\xff\xff\xff\xffx"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if payload, err := znodePayload("/x", data); err == nil && len(payload) > len(data) {
			t.Fatal("grown")
		}
	})
}
