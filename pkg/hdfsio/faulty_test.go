package hdfsio

import (
	"errors"
	"io/fs"
	"testing"

	"bulkload/internal/test/testcheck"
)

func TestFaulty(t *testing.T) {
	broken := errors.New("broken by the test")
	m := NewMemory()
	var op Op
	var after bool
	f := &Faulty{FS: m, Inject: func(o Op, _ string, offset int64) *Fault {
		if o == op && (o != OpWrite || offset >= 10) {
			return &Fault{Err: broken, After: after}
		}
		return nil
	}}
	op = OpWrite
	w, err := f.Create(t.Context(), "/a", CreateOptions{})
	testcheck.Must(t, err)
	_, err = w.Write(make([]byte, 10))
	testcheck.Must(t, err)
	_, err = w.Write(make([]byte, 10))
	var re *RewriteError
	if !errors.Is(err, broken) || !errors.Is(err, ErrRewrite) || !errors.As(err, &re) || re.Offset != 10 {
		t.Fatalf("write: %v", err)
	}
	if err := w.Finish(); !errors.Is(err, ErrRewrite) {
		t.Fatalf("finish after a failed write: %v", err)
	}
	testcheck.Must(t, w.Abort())

	op, after = OpFinish, true
	w, err = f.Create(t.Context(), "/b", CreateOptions{})
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

func TestMemoryCrash(t *testing.T) {
	m := NewMemory()
	writeFile(t, m, "/done", []byte("x"), CreateOptions{})
	w, err := m.Create(t.Context(), "/open", CreateOptions{})
	testcheck.Must(t, err)
	_, err = w.Write([]byte("x"))
	testcheck.Must(t, err)
	m.Crash()
	if err := w.Finish(); !errors.Is(err, ErrRewrite) {
		t.Fatalf("finish after a crash: %v", err)
	}
	info, err := m.Stat(t.Context(), "/open")
	if err != nil || info.Size() != 0 {
		t.Fatalf("the unfinished file: %v, %v", info, err)
	}
	if _, err := m.Create(t.Context(), "/open", CreateOptions{}); !errors.Is(err, fs.ErrExist) {
		t.Fatalf("create over it: %v", err)
	}
	if got := readFile(t, m, "/done"); string(got) != "x" {
		t.Fatalf("the finished file: %q", got)
	}
}
