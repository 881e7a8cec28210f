package dfs

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"bulkload/internal/hadoop/frames"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testdfs"
)

// written returns a file of a client that has cached its NameNode's defaults.
func written(t *testing.T, chunk int64) *File {
	c := ready(t)
	d := c.defaults.Defaults
	d.Chunk = chunk
	return &File{Name: "/name", Defaults: d, client: c, holder: "client"}
}

// taking starts a DataNode that accepts a block and acknowledges each packet; packets collects the received packets, except
// heartbeats.
func taking(t *testing.T, packets *bytes.Buffer) (net.Addr, chan struct{}) {
	done := make(chan struct{})
	l := testcheck.Serve(t, func(c net.Conn) {
		defer close(done)
		if op, _, err := testdfs.TakeOperation(c); err != nil || op != testdfs.WriteBlock {
			t.Errorf("operation %d, %v", op, err)
			return
		}
		c.Write(testdfs.Status(0))
		for {
			start := make([]byte, packetStart)
			if _, err := io.ReadFull(c, start); err != nil {
				return
			}
			rest := make([]byte, int(binary.BigEndian.Uint16(start[4:]))+int(binary.BigEndian.Uint32(start))-4)
			if _, err := io.ReadFull(c, rest); err != nil {
				t.Error(err)
				return
			}
			h, ok := parsePacketHeader(rest[:binary.BigEndian.Uint16(start[4:])])
			if !ok {
				t.Errorf("header %x", rest)
			}
			if h.seqno != heartbeatSeqno {
				packets.Write(append(start, rest...))
			}
			c.Write(testdfs.Acknowledge(h.seqno, 0))
		}
	})
	return l.Addr(), done
}

// TestWritePackets checks that a block reader reads back the written packets, for any sizes of writes and checksum chunks.
func TestWritePackets(t *testing.T) {
	for _, chunk := range []int64{512, 1000, packetData} {
		for _, size := range []int{0, 1, 511, 512, 513, packetData - 1, packetData, packetData + 1, 300_000} {
			var packets bytes.Buffer
			at, done := taking(t, &packets)
			f, data := written(t, chunk), noise(size)
			w, err := f.WriteBlock(t.Context(), blockAt(t, at))
			testcheck.Must(t, err)
			for p := data; len(p) > 0; p = p[min(len(p), 10_007):] {
				_, err := w.Write(p[:min(len(p), 10_007)])
				testcheck.Must(t, err)
				w.idle()
			}
			b, err := w.Close()
			testcheck.Must(t, err)
			w.Abort()
			<-done
			if b.Size != int64(size) || int64(frames.Number(b.id, 4)) != b.Size {
				t.Errorf("%d bytes: block of %d", size, b.Size)
			}
			sum := frames.AppendNumber(frames.AppendNumber(nil, 1, 2), 2, uint64(chunk))
			r := &packetReader{from: io.MultiReader(bytes.NewReader(testdfs.ReadResponse(sum, 0)), &packets), end: int64(size)}
			if got, err := readPackets(r); err != nil || !bytes.Equal(got, data) {
				t.Errorf("%d bytes in chunks of %d: %d came back, %v", size, chunk, len(got), err)
			}
		}
	}
}

// TestWriteEndsWithItsContext checks that a writer to a DataNode that accepts no more data ends with its context.
func TestWriteEndsWithItsContext(t *testing.T) {
	l := testcheck.Serve(t, func(c net.Conn) {
		testdfs.TakeOperation(c)
		c.Write(testdfs.Status(0))
		<-t.Context().Done()
	})
	why := errors.New("stopped")
	ctx, cancel := context.WithCancelCause(t.Context())
	w, err := written(t, 512).WriteBlock(ctx, blockAt(t, l.Addr()))
	testcheck.Must(t, err)
	time.AfterFunc(50*time.Millisecond, func() { cancel(why) })
	for err == nil {
		_, err = w.Write(noise(1 << 20))
	}
	if !errors.Is(err, why) {
		t.Error(err)
	}
	w.Abort()
}

// TestAcknowledgements checks errors that a writer returns at the next packet or at the end.
func TestAcknowledgements(t *testing.T) {
	for what, answer := range map[string][]byte{
		"another packet": testdfs.Acknowledge(7, 0), "a failure": testdfs.Acknowledge(0, 1), "nobody": testdfs.Acknowledge(0),
		"one too many": testdfs.Acknowledge(0, 0, 0), "no form": []byte("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"), "the end": nil,
		"a heartbeat, then a failure": append(testdfs.Acknowledge(heartbeatSeqno, 0), testdfs.Acknowledge(0, 1)...),
	} {
		l := testcheck.Serve(t, func(c net.Conn) {
			testdfs.TakeOperation(c)
			c.Write(append(testdfs.Status(0), answer...))
			if answer != nil {
				io.Copy(io.Discard, c)
			}
		})
		w, err := written(t, 512).WriteBlock(t.Context(), blockAt(t, l.Addr()))
		testcheck.Must(t, err)
		if _, err = w.Write(noise(200_000)); err == nil {
			_, err = w.Close()
		}
		if err == nil {
			t.Errorf("%s passes", what)
		}
		w.Abort()
	}
}
