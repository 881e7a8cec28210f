package testfs

import (
	"errors"
	"testing"

	"bulkload/internal/test/testcheck"
	"bulkload/pkg/hdfsio"
)

func TestFaulty(t *testing.T) {
	broken := errors.New("broken by the test")
	m := hdfsio.NewMemory()
	var op Op
	var after bool
	f := &Faulty{FS: m, Inject: func(o Op, _ string, offset int64) *Fault {
		if o == op && (o != OpWrite || offset >= 10) {
			return &Fault{Err: broken, After: after}
		}
		return nil
	}}
	op = OpWrite
	w, err := f.Create(t.Context(), "/a", hdfsio.CreateOptions{})
	testcheck.Must(t, err)
	_, err = w.Write(make([]byte, 10))
	testcheck.Must(t, err)
	_, err = w.Write(make([]byte, 10))
	var re *hdfsio.RewriteError
	if !errors.Is(err, broken) || !errors.Is(err, hdfsio.ErrRewrite) || !errors.As(err, &re) || re.Offset != 10 {
		t.Fatalf("write: %v", err)
	}
	if err := w.Finish(); !errors.Is(err, hdfsio.ErrRewrite) {
		t.Fatalf("finish after a failed write: %v", err)
	}
	testcheck.Must(t, w.Abort())

	op, after = OpFinish, true
	w, err = f.Create(t.Context(), "/b", hdfsio.CreateOptions{})
	testcheck.Must(t, err)
	if err := w.Finish(); !errors.Is(err, broken) {
		t.Fatalf("lost answer: %v", err)
	}
	_, err = m.Stat(t.Context(), "/b")
	testcheck.Must(t, err)

	op = OpRename
	if err := f.Rename(t.Context(), "/b", "/c"); !errors.Is(err, broken) {
		t.Fatal(err)
	}
	_, err = m.Stat(t.Context(), "/c")
	testcheck.Must(t, err)
}
