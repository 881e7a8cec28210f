package hdfsio

import (
	"bytes"
	"errors"
	"io"
	"testing"
)

func TestOverlappedKeepsOrderAndErrors(t *testing.T) {
	m := NewMemory()
	sink, err := m.Create(t.Context(), "/x", CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	o := NewOverlapped(sink, nil)
	var want []byte
	for i := range 100 {
		p := bytes.Repeat([]byte{byte(i)}, i)
		want = append(want, p...)
		if _, err := o.Write(p); err != nil {
			t.Fatal(err)
		}
		clear(p) // the writer's buffer is used again at once
	}
	if err := errors.Join(o.Drain(), o.Drain(), sink.Finish()); err != nil {
		t.Fatal(err)
	}
	f, err := m.Open(t.Context(), "/x")
	if err != nil {
		t.Fatal(err)
	}
	got := make([]byte, len(want)+1)
	n, _ := f.Read(got)
	if !bytes.Equal(got[:n], want) {
		t.Fatalf("%d bytes, want %d", n, len(want))
	}

	boom := errors.New("disk full")
	o = NewOverlapped(fullDisk{sink, boom}, nil)
	for range 10 {
		if _, err = o.Write([]byte("x")); err != nil {
			break
		}
	}
	if !errors.Is(err, boom) || !errors.Is(o.Drain(), boom) {
		t.Fatalf("error is %v", err)
	}
}

// fullDisk fails each write.
type fullDisk struct {
	Writer
	err error
}

func (w fullDisk) Write([]byte) (int, error) { return 0, w.err }

// TestOverlappedIsDrained checks that a write after Drain is an error instead of a panic or a loss of bytes.
func TestOverlappedIsDrained(t *testing.T) {
	for range 20 {
		f, err := NewMemory().Create(t.Context(), "/f", CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		o := NewOverlapped(f, nil)
		if err := o.Drain(); err != nil {
			t.Fatal(err)
		}
		if n, err := o.Write([]byte("x")); n != 0 || err == nil {
			t.Fatalf("%d bytes, %v", n, err)
		}
	}
}

// shortWriter writes half of what it is given, and returns no error.
type shortWriter struct{ Writer }

func (shortWriter) Write(p []byte) (int, error) { return len(p) / 2, nil }

// TestOverlappedShortWrites checks that bytes that the sink has not written are an error.
func TestOverlappedShortWrites(t *testing.T) {
	o := NewOverlapped(shortWriter{}, nil)
	_, err := o.Write([]byte("abc"))
	if err := errors.Join(err, o.Drain()); !errors.Is(err, io.ErrShortWrite) {
		t.Error(err)
	}
}
