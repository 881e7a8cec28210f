package filecheck

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"strings"
	"sync"
	"testing"

	"bulkload/internal/model/manifest"
	"bulkload/internal/model/progress"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testfs"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/hfile"
)

// written writes an HFile with the given number of rows, and returns its manifest entry.
func written(t testing.TB, fsys hdfsio.FS, name string, rows int) (Target, []byte) {
	t.Helper()
	f := jobtest.WriteCells(t, fsys, name, jobtest.SomeCells(rows), hfile.Options{Compression: hfile.CompressionSnappy, Encoding: hfile.EncodingFastDiff, Bloom: hfile.BloomRow})
	b := jobtest.ReadWhole(t, fsys, name)
	return Target{Path: name, File: manifest.File{Name: name, Cells: f.Cells, Bytes: f.Size, CRC32C: castagnoli(b)}}, b
}

func castagnoli(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }

// put replaces a file.
func put(t testing.TB, fsys hdfsio.FS, name string, b []byte) {
	t.Helper()
	testcheck.Must(t, fsys.RemoveAll(t.Context(), name))
	w, err := fsys.Create(t.Context(), name, hdfsio.CreateOptions{})
	testcheck.Must(t, err)
	_, err = w.Write(b)
	testcheck.Must(t, err)
	testcheck.Must(t, w.Finish())
}

// unknown returns a file without its checksum.
func unknown(f Target) Target {
	f.CRC32C = 0
	return f
}

// TestSoundFiles checks that intact files of each size pass, that the check stores the checksum and the id of each, and that it reports
// the bytes read.
func TestSoundFiles(t *testing.T) {
	m := hdfsio.NewMemory()
	var known, blind []Target
	var size int64
	for i, rows := range []int{1, 7, 300, 5000} { // the last one has several pieces
		f, _ := written(t, m, fmt.Sprintf("/out/f/%d", i), rows)
		known, blind, size = append(known, f), append(blind, unknown(f)), size+f.Bytes
	}
	if known[3].Bytes < 2*pieceSize {
		t.Fatalf("the largest file has %d bytes", known[3].Bytes)
	}
	for what, files := range map[string][]Target{"with a checksum": known, "without": blind} {
		var mu sync.Mutex
		var read, total int64
		var phases []string
		events := progress.Events{OnChecked: func(n int64) { mu.Lock(); read += n; mu.Unlock() }, OnTotal: func(_ string, a progress.Amount) { total = a.Bytes },
			OnPhase: func(name string) { phases = append(phases, name) }}
		damaged, err := (&Checker{FS: m, Events: events}).All(t.Context(), files)
		if err != nil || len(damaged) > 0 {
			t.Errorf("%s: %v, %v", what, damaged, err)
		}
		if read != size || total != size || fmt.Sprint(phases) != "[check]" {
			t.Errorf("%s: %d of %d bytes are read, in phases %v; the files have %d", what, read, total, phases, size)
		}
		for i, f := range files {
			info, err := m.Stat(t.Context(), f.Path)
			testcheck.Must(t, err)
			if id, _ := hdfsio.FileID(info); f.ID != id || f.CRC32C != known[i].CRC32C {
				t.Errorf("%s, file %d: id %d, checksum %08x; it has %d, %08x", what, i, f.ID, f.CRC32C, id, known[i].CRC32C)
			}
		}
	}
	if damaged, err := (&Checker{FS: m}).All(t.Context(), nil); damaged != nil || err != nil {
		t.Errorf("no files: %v, %v", damaged, err)
	}
}

// TestDamagedFiles checks that any changed bit is detected, whether the checksum is known or not, that the message has its position but
// no data of the table, and that other files are checked nevertheless.
func TestDamagedFiles(t *testing.T) {
	r := testcheck.Rand(t)
	m := hdfsio.NewMemory()
	good, _ := written(t, m, "/out/f/good", 20)
	f, whole := written(t, m, "/out/f/bad", 300)
	for i := range 400 {
		bad := bytes.Clone(whole)
		at := r.IntN(len(bad))
		if i < 100 {
			at = len(bad) - 1 - i // the trailer
		}
		bad[at] ^= 1 << r.IntN(8)
		put(t, m, f.Path, bad)
		damaged, err := (&Checker{FS: m}).All(t.Context(), []Target{good, f})
		if err != nil || len(damaged) != 1 || damaged[1] == nil {
			t.Fatalf("a bit of byte %d: %v, %v", at, damaged, err)
		}
		d := damaged[1]
		if d.Path != f.Path || len(d.Found) < 2 || !strings.HasPrefix(d.Found[0], fmt.Sprintf("the CRC-32C of its bytes is %08x, want %08x", castagnoli(bad), f.CRC32C)) {
			t.Fatalf("a bit of byte %d: %q", at, d.Found)
		}
		if strings.ContainsRune(d.Error(), '"') || !strings.HasPrefix(d.Error(), f.Path+" is damaged: ") {
			t.Fatalf("the message is %v", d)
		}
	}
}

// TestOtherFiles checks that an intact file that differs from the written one, or has another length or other cells, counts as damaged.
func TestOtherFiles(t *testing.T) {
	m := hdfsio.NewMemory()
	f, whole := written(t, m, "/out/f/x", 50)
	cells := jobtest.SomeCells(50)
	cells[17].Value = bytes.Repeat([]byte{1}, len(cells[17].Value))
	same := jobtest.WriteCells(t, m, "/out/f/y", cells, hfile.Options{})
	other := jobtest.ReadWhole(t, m, "/out/f/y")
	sound := unknown(f)
	sound.Bytes, sound.CRC32C = same.Size, f.CRC32C
	fewer := unknown(f)
	fewer.Cells--
	for what, c := range map[string]struct {
		target Target
		b      []byte
		found  string
	}{
		"shorter":      {f, whole[:len(whole)-1], fmt.Sprintf("it has %d bytes, want %d", len(whole)-1, len(whole))},
		"longer":       {unknown(f), append(bytes.Clone(whole), 0), fmt.Sprintf("it has %d bytes, want %d", len(whole)+1, len(whole))},
		"empty":        {f, nil, "it has 0 bytes"},
		"another one":  {sound, other, "it is a valid HFile, but not the one that was written"},
		"fewer cells":  {fewer, whole, "it has 150 cells, not 149"},
		"no HFile":     {unknown(f), bytes.Repeat([]byte{7}, len(whole)), ""},
		"no HFile too": {f, bytes.Repeat([]byte("\"row\""), len(whole)/5+1)[:len(whole)], "the CRC-32C"},
	} {
		put(t, m, f.Path, c.b)
		damaged, err := (&Checker{FS: m}).All(t.Context(), []Target{c.target})
		if err != nil || damaged[0] == nil || !strings.Contains(damaged[0].Error(), c.found) || strings.ContainsRune(damaged[0].Error(), '"') {
			t.Errorf("%s: %v, %v, want %q", what, damaged, err, c.found)
		}
	}
}

// TestMissingFiles checks that a missing file is an error, unless it may be gone: a server may still move it, before it is opened or before it
// is read.
func TestMissingFiles(t *testing.T) {
	m := hdfsio.NewMemory()
	f, _ := written(t, m, "/out/f/x", 3)
	gone := f
	gone.Path = "/out/f/gone"
	if damaged, err := (&Checker{FS: m}).All(t.Context(), []Target{f, gone}); !errors.Is(err, fs.ErrNotExist) || len(damaged) > 0 {
		t.Errorf("%v, %v", damaged, err)
	}
	gone.MayBeGone = true
	if damaged, err := (&Checker{FS: m}).All(t.Context(), []Target{f, gone}); err != nil || len(damaged) > 0 {
		t.Errorf("it may be gone: %v, %v", damaged, err)
	}
	moved := &testfs.Faulty{FS: m, Inject: func(op testfs.Op, _ string, _ int64) *testfs.Fault {
		if op == testfs.OpRead || op == testfs.OpReadAt {
			return &testfs.Fault{Err: fs.ErrNotExist}
		}
		return nil
	}}
	for what, target := range map[string]Target{"with a checksum": f, "without": unknown(f)} {
		if damaged, err := (&Checker{FS: moved}).All(t.Context(), []Target{target}); !errors.Is(err, fs.ErrNotExist) || len(damaged) > 0 {
			t.Errorf("%s: %v, %v", what, damaged, err)
		}
		target.MayBeGone = true
		if damaged, err := (&Checker{FS: moved}).All(t.Context(), []Target{target}); err != nil || len(damaged) > 0 {
			t.Errorf("%s, it may be gone: %v, %v", what, damaged, err)
		}
	}
}

// TestBlocksWithoutReplica checks that a file is damaged if HDFS has no intact replica of one of its blocks; other read errors are not damage.
func TestBlocksWithoutReplica(t *testing.T) {
	m := hdfsio.NewMemory()
	f, _ := written(t, m, "/out/f/x", 300)
	block := &hdfsio.BlockError{DataNode: "dn:9866", Block: "blk_1_2", Offset: 512, Err: hdfsio.ErrBlockChecksum}
	away := errors.New("no DataNode answers")
	for _, c := range []struct {
		err     error
		damaged bool
	}{{block, true}, {away, false}} {
		faulty := &testfs.Faulty{FS: m, Inject: func(op testfs.Op, _ string, _ int64) *testfs.Fault {
			if op == testfs.OpRead || op == testfs.OpReadAt {
				return &testfs.Fault{Err: c.err}
			}
			return nil
		}}
		for what, target := range map[string]Target{"with a checksum": f, "without": unknown(f)} {
			damaged, err := (&Checker{FS: faulty}).All(t.Context(), []Target{target})
			if c.damaged && (err != nil || damaged[0] == nil || damaged[0].Path != f.Path || !strings.Contains(damaged[0].Error(), "blk_1_2 damaged at byte 512")) {
				t.Errorf("%s: %v, %v", what, damaged, err)
			}
			if !c.damaged && (!errors.Is(err, away) || len(damaged) > 0) {
				t.Errorf("%s: %v, %v", what, damaged, err)
			}
		}
	}
}

// stopped is a gate that lets some files pass.
type stopped struct {
	mu   sync.Mutex
	pass int
	err  error
}

func (g *stopped) Wait(context.Context) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.pass--; g.pass < 0 {
		return g.err
	}
	return nil
}

// TestGate checks that the gate is passed before each file, and that its error ends the check.
func TestGate(t *testing.T) {
	m := hdfsio.NewMemory()
	var files []Target
	for i := range 20 {
		f, _ := written(t, m, fmt.Sprintf("/out/f/%d", i), 2)
		files = append(files, f)
	}
	halt := errors.New("the job is paused for good")
	for pass, want := range map[int]error{len(files): nil, 3: halt, 0: halt} {
		g := &stopped{pass: pass, err: halt}
		if _, err := (&Checker{FS: m, Gate: g}).All(t.Context(), files); !errors.Is(err, want) {
			t.Errorf("%d files may pass: %v", pass, err)
		}
		if want == nil && g.pass != 0 {
			t.Errorf("the gate was asked %d times", len(files)-g.pass)
		}
	}
}

// TestAtATime checks that more files are read at a time if all are small, and never more than there are.
func TestAtATime(t *testing.T) {
	small, large := Target{File: manifest.File{Bytes: quickFile}}, Target{File: manifest.File{Bytes: quickFile + 1}}
	many := make([]Target, 50)
	for i := range many {
		many[i] = small
	}
	if n := atATime(many); n != maxWorkers {
		t.Errorf("%d small files at a time", n)
	}
	if n := atATime([]Target{small, large}); n != 2 {
		t.Errorf("%d of two files at a time", n)
	}
	many[17] = large
	if n := atATime(many); n < minWorkers || n > maxWorkers {
		t.Errorf("%d files at a time", n)
	}
}

// TestWithoutValues checks that quoted data are removed from findings, that repeated findings count once, and that only the first of many are kept.
func TestWithoutValues(t *testing.T) {
	in := []string{`row "a\"b" before "c"`, "block 7", "block 7", "block 8", "block 9", "block 10"}
	if got := strings.Join(withoutValues(in), "|"); got != "row … before …|block 7|block 8|and 2 more" {
		t.Errorf("%s", got)
	}
	if in[0] != `row "a\"b" before "c"` || in[3] != "block 8" {
		t.Errorf("the findings have changed: %q", in)
	}
	if got := withoutValues([]string{"one"}); len(got) != 1 || got[0] != "one" {
		t.Errorf("%q", got)
	}
}

// TestReadBack checks that the bytes of a file are compared with the sent ones, and that the error has the name and both checksums.
func TestReadBack(t *testing.T) {
	m := hdfsio.NewMemory()
	r := testcheck.Rand(t)
	for _, n := range []int{0, 1, 4095, 4096, 512<<10 - 1, 512 << 10, 512<<10 + 1, 2 << 20} {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		put(t, m, "/x", b)
		testcheck.Must(t, ReadBack(t.Context(), m, "/x", castagnoli(b)))
		want := fmt.Sprintf("read back /x: the CRC-32C of its bytes is %08x, want %08x", castagnoli(b), castagnoli(b)^4)
		if err := ReadBack(t.Context(), m, "/x", castagnoli(b)^4); err == nil || err.Error() != want {
			t.Errorf("%d bytes: %v, want %s", n, err, want)
		}
	}
	if err := ReadBack(t.Context(), m, "/none", 0); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
}
