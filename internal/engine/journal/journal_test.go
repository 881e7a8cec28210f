package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"bulkload/internal/base/durable"
	"bulkload/internal/test/testcheck"

	"pgregory.net/rapid"
)

type note struct {
	Text string `json:"text"`
	N    int    `json:"n"`
}

// TestReplay appends in several sessions of a journal, each ended by a torn line,
// and reads all complete records.
func TestReplay(t *testing.T) {
	dir := t.TempDir()
	testcheck.Check(t, func(t *rapid.T) {
		if err := os.RemoveAll(filepath.Join(dir, FileName)); err != nil {
			t.Fatal(err)
		}
		var want []note
		for range rapid.IntRange(1, 4).Draw(t, "lives") {
			j, records, err := Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			if len(records) != len(want) {
				t.Fatalf("%d records, want %d", len(records), len(want))
			}
			for i, r := range records {
				got := note{}
				if err := json.Unmarshal(r.Data, &got); err != nil || got != want[i] || r.Seq != int64(i+1) || r.Event != "note" || r.Time.IsZero() {
					t.Fatalf("record %d: %+v %v, want %+v", i, r, err, want[i])
				}
			}
			for range rapid.IntRange(0, 5).Draw(t, "records") {
				n := note{rapid.String().Draw(t, "text"), rapid.Int().Draw(t, "n")}
				n.Text = strings.ToValidUTF8(n.Text, "?")
				d := Later
				if rapid.Bool().Draw(t, "sync") {
					d = First
				}
				if _, err := j.Append("note", n, d); err != nil {
					t.Fatal(err)
				}
				want = append(want, n)
			}
			var copied bytes.Buffer
			if _, err := j.WriteTo(&copied); err != nil {
				t.Fatal(err)
			}
			if again, err := Read(&copied); err != nil || len(again) != len(want) {
				t.Fatalf("the copy has %d records: %v", len(again), err)
			}
			if err := j.Close(); err != nil {
				t.Fatal(err)
			}
			torn := rapid.SampledFrom([]string{"", `{"seq":9,"ti`, `{"seq":9,"time":"2017-10-12T01:02:03Z","event":"note"}`, "\x00\x00\x00\x00"}).Draw(t, "torn")
			f, err := os.OpenFile(filepath.Join(dir, FileName), os.O_APPEND|os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := f.WriteString(torn); err != nil {
				t.Fatal(err)
			}
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestDamaged checks that a journal with a broken line in its middle is refused:
// the progress of a job must not be guessed.
func TestDamaged(t *testing.T) {
	dir := t.TempDir()
	text := `{"seq":1,"time":"2017-10-12T01:02:03Z","event":"plan"}` + "\nnonsense\n" + `{"seq":3,"time":"2017-10-12T01:02:03Z","event":"done"}` + "\n"
	if err := os.WriteFile(filepath.Join(dir, FileName), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	_, _, err := Open(dir)
	if e, ok := errors.AsType[*DamagedError](err); !ok || *e != (DamagedError{Line: 2, Text: "nonsense"}) {
		t.Errorf("%v", err)
	}
	if after, err := os.ReadFile(filepath.Join(dir, FileName)); err != nil || string(after) != text {
		t.Errorf("the journal is now %q, %v", after, err)
	}
}

// TestChangesAreNoticed changes each byte of a journal, and removes, repeats and exchanges lines: it is refused, or has the same records. A
// changed last line feed is a torn line.
func TestChangesAreNoticed(t *testing.T) {
	dir := t.TempDir()
	j, _, err := Open(dir)
	testcheck.Must(t, err)
	for n, event := range []string{"plan", "sending", "loaded", "done"} {
		_, err := j.Append(event, note{"hdfs://nn/s/f/aa", n}, Later)
		testcheck.Must(t, err)
	}
	testcheck.Must(t, j.Close())
	text, err := os.ReadFile(filepath.Join(dir, FileName))
	testcheck.Must(t, err)
	want := recordsOf(t, text)
	check := func(how string, changed []byte) {
		records, err := Read(bytes.NewReader(changed))
		if _, damaged := errors.AsType[*DamagedError](err); damaged {
			return
		}
		if got := fieldsOf(t, records); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v %v", how, got, err)
		}
	}
	for at := range text[:len(text)-1] {
		for bit := range 8 {
			changed := bytes.Clone(text)
			changed[at] ^= 1 << bit
			check(fmt.Sprintf("byte %d is %q instead of %q", at, changed[at], text[at]), changed)
		}
	}
	l := bytes.SplitAfter(text, []byte("\n"))
	check("line 2 is missing", slices.Concat(l[0], l[2], l[3]))
	check("line 1 is missing", slices.Concat(l[1], l[2], l[3]))
	check("line 2 is there twice", slices.Concat(l[0], l[1], l[1], l[2], l[3]))
	check("lines 2 and 3 are exchanged", slices.Concat(l[0], l[2], l[1], l[3]))
}

func recordsOf(t *testing.T, text []byte) []string {
	records, err := Read(bytes.NewReader(text))
	testcheck.Must(t, err)
	return fieldsOf(t, records)
}

// fieldsOf returns the header and the fields of records.
func fieldsOf(t *testing.T, records []Record) (all []string) {
	for _, r := range records {
		n := note{}
		testcheck.Must(t, json.Unmarshal(r.Data, &n))
		all = append(all, fmt.Sprint(r.Seq, r.Time, r.Event, n))
	}
	return all
}

func TestAppendConcurrently(t *testing.T) {
	dir := t.TempDir()
	j, _, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for n := range 50 {
				d := Later
				if n%10 == 0 {
					d = First
				}
				if _, err := j.Append("note", note{fmt.Sprint(i), n}, d); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if _, err := j.Append("bad", []int{1}, Later); err == nil {
		t.Error("a record that is not an object")
	}
	_, synced := j.Append("empty", nil, First)
	_, later := j.Append("none", struct{}{}, Later)
	if err := errors.Join(synced, later, j.Close()); err != nil {
		t.Fatal(err)
	}
	_, records, err := Open(dir)
	if err != nil || len(records) != 402 {
		t.Fatalf("%d records, %v", len(records), err)
	}
	next := map[string]int{} // of each goroutine: its records are in its order
	for i, r := range records {
		got := note{}
		if err := json.Unmarshal(r.Data, &got); err != nil || r.Seq != int64(i+1) {
			t.Fatalf("record %d: %+v, %v", i, r, err)
		}
		if r.Event != "note" {
			continue
		}
		if got.N != next[got.Text] {
			t.Fatalf("record %d is number %d of %s, want %d", i, got.N, got.Text, next[got.Text])
		}
		next[got.Text]++
	}
	if records[400].Event != "empty" || records[401].Event != "none" {
		t.Errorf("the last records are %s and %s", records[400].Event, records[401].Event)
	}
}

// TestLock checks that the lock excludes other processes too.
func TestLock(t *testing.T) {
	if dir := os.Getenv("JOURNAL_LOCK_DIR"); dir != "" {
		_, err := TryLock(dir)
		fmt.Println("outcome:", err)
		return
	}
	dir := t.TempDir()
	l, err := TryLock(dir)
	if err != nil {
		t.Fatal(err)
	}
	_, err = TryLock(dir)
	if e, ok := errors.AsType[*BusyError](err); !ok || e.Dir != dir || !strings.HasPrefix(e.Holder, fmt.Sprintf("process %d on ", os.Getpid())) {
		t.Errorf("taken twice: %v", err)
	}
	other := func() string {
		cmd := exec.Command(os.Args[0], "-test.run=^TestLock$")
		cmd.Env = append(os.Environ(), "JOURNAL_LOCK_DIR="+dir)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return string(out)
	}
	if got, want := other(), fmt.Sprintf("process %d on ", os.Getpid()); !strings.Contains(got, want) {
		t.Errorf("the other process says %s, want %s", got, want)
	}
	if err := l.Release(); err != nil {
		t.Fatal(err)
	}
	if got := other(); !strings.Contains(got, "outcome: <nil>") {
		t.Errorf("the other process says %s", got)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := TryLock(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the lock of a directory that is gone: %v", err)
	}
}

// FuzzRead checks that any input is read without a panic, and complete lines unchanged.
func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"seq":1,"time":"2017-10-12T01:02:03Z","event":"plan","x":[1,{"y":null}]}` + "\n"))
	f.Add([]byte("{}\n"))
	f.Add([]byte("\x00\x00\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		records, err := Read(bytes.NewReader(b))
		if err != nil {
			return
		}
		for _, r := range records {
			if r.Event == "" || !json.Valid(r.Data) {
				t.Fatalf("%q", r.Data)
			}
		}
	})
}

// TestLastOwner checks that the last owner is read, whether the lock is held or not, and that other texts are errors.
func TestLastOwner(t *testing.T) {
	dir := t.TempDir()
	if _, err := LastOwner(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no lock: %v", err)
	}
	before := time.Now().Truncate(time.Second)
	l, err := TryLock(dir)
	if err != nil {
		t.Fatal(err)
	}
	after := time.Now()
	for range 2 {
		o, err := LastOwner(dir)
		host, _ := os.Hostname()
		if err != nil || o.PID != os.Getpid() || o.Host != host || o.Since.Before(before) || o.Since.After(after) {
			t.Errorf("%+v, %v", o, err)
		}
		_ = l.Release()
	}
	for _, text := range []string{"", "process x on y since z", "process 1 on y since yesterday\n", "process 1"} {
		if err := os.WriteFile(filepath.Join(dir, LockName), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if o, err := LastOwner(dir); err == nil {
			t.Errorf("%q: %+v", text, o)
		}
	}
}

// TestRemovedJournal checks that a journal whose file or directory is removed, renamed or replaced fails the next durable record and all later ones.
func TestRemovedJournal(t *testing.T) {
	for name, change := range map[string]func(dir string) error{
		"file removed":       func(dir string) error { return os.Remove(filepath.Join(dir, FileName)) },
		"directory removed":  os.RemoveAll,
		"directory renamed":  func(dir string) error { return os.Rename(dir, dir+".old") },
		"replaced by a copy": func(dir string) error { return durable.Replace(filepath.Join(dir, FileName), []byte("copy\n")) },
	} {
		dir := filepath.Join(t.TempDir(), "job")
		testcheck.Must(t, os.Mkdir(dir, 0o700))
		j, _, err := Open(dir)
		testcheck.Must(t, err)
		_, err = j.Append("first", nil, First)
		testcheck.Must(t, err)
		testcheck.Must(t, change(dir))
		for range 2 {
			if _, err := j.Append("next", nil, OnDisk); !errors.Is(err, errMoved) {
				t.Errorf("%s: %v", name, err)
			}
		}
		_ = j.Close()
	}
}

// TestSyncedRecordsAreSynced checks that a First record syncs the file, and reports a failed sync. The file is a pipe, which the kernel can write to
// but not sync.
func TestSyncedRecordsAreSynced(t *testing.T) {
	r, w, err := os.Pipe()
	testcheck.Must(t, err)
	defer r.Close()
	j := &Journal{f: w}
	_, err = j.Append("plain", nil, Later)
	testcheck.Must(t, err)
	_, err = j.Append("synced", nil, First)
	if !errors.Is(err, syscall.EINVAL) {
		t.Fatalf("the record was synced where nothing can be: %v", err)
	}
	if _, again := j.Append("next", nil, Later); again != err {
		t.Errorf("a record follows one that may not be on disk: %v", again)
	}
	if err := j.Close(); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("the journal was closed without being synced: %v", err)
	}
	records, err := Read(r)
	testcheck.Must(t, err)
	if len(records) != 2 || records[0].Event != "plain" || records[1].Event != "synced" {
		t.Errorf("written are %v", records)
	}
}
