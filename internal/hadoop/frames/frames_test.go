package frames

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"testing"
	"testing/iotest"
)

// twoMessages is a check for frames of two messages.
func twoMessages(head []byte, size uint32) (int, string) {
	_, to, need, why := Delimited(head, 0, size)
	if need > 0 || why != "" {
		return need, why
	}
	if uint32(to) == size {
		return 0, ""
	}
	_, _, need, why = Delimited(head, to, size)
	return need, why
}

func frame(body ...byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)
}

// through reads a stream through a filter.
func through(f *Filter, r io.Reader) (n int, err error) {
	buf := make([]byte, 7)
	for {
		m, err := r.Read(buf)
		if e := f.Pass(buf[:m]); e != nil {
			return n, e
		}
		n += m
		if err != nil {
			return n, err
		}
	}
}

// TestFramesAreFollowed cuts streams at every byte: the result must not change.
func TestFramesAreFollowed(t *testing.T) {
	good := bytes.Join([][]byte{frame(2, 'a', 'b', 1, 'c'), frame(), frame(3, 'a', 'b', 'c'), frame(append([]byte{200, 1}, make([]byte, 200)...)...)}, nil)
	for _, c := range []struct {
		data []byte
		why  string
	}{
		{good, ""},
		{append(bytes.Clone(good), 0xff, 0xff, 0xff, 0xff), "is longer than 1000"},
		{append(bytes.Clone(good), frame(3, 'a')...), "has a message of 3 bytes at byte 1"},
		{append(bytes.Clone(good), frame(1, 'a', 5, 'b')...), "has a message of 5 bytes at byte 3"},
		{append(bytes.Clone(good), frame(0x80)...), "ends within a length"},
		{append(bytes.Clone(good), frame(bytes.Repeat([]byte{0xff}, 11)...)...), "has a length that cannot be"},
	} {
		for name, r := range map[string]io.Reader{"one": iotest.OneByteReader(bytes.NewReader(c.data)), "half": iotest.HalfReader(bytes.NewReader(c.data)), "all": bytes.NewReader(c.data)} {
			n, err := through(&Filter{Most: 1000, Check: func(head []byte, size uint32) (int, string) {
				if size == 0 {
					return 0, ""
				}
				return twoMessages(head, size)
			}}, r)
			if c.why == "" && (err != io.EOF || n != len(c.data)) {
				t.Errorf("%s: %d of %d bytes, %v", name, n, len(c.data), err)
			}
			if e, ok := errors.AsType[*Error](err); c.why != "" && (!ok || e.Why != c.why) {
				t.Errorf("%s: %v, want %q", name, err, c.why)
			}
		}
	}
}

func FuzzPass(f *testing.F) {
	f.Add(frame(2, 'a', 'b', 1, 'c'), uint8(3))
	f.Add([]byte{0, 0, 0, 2, 0x80, 0x80}, uint8(1))
	f.Fuzz(func(t *testing.T, data []byte, step uint8) {
		filter := &Filter{Most: 1000, Check: twoMessages}
		for len(data) > 0 {
			n := min(int(step)+1, len(data))
			if filter.Pass(data[:n]) != nil {
				return
			}
			data = data[n:]
			if len(filter.head) > 1000 {
				t.Fatal("it keeps more than a frame")
			}
		}
	})
}
