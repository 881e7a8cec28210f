package job

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/internal/model/manifest"
	"bulkload/internal/pipeline/filecheck"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testfs"
	"bulkload/pkg/hdfsio"
)

// TestProverFindsDamage checks files of a local build, intact and damaged, with the
// checksum of the manifest and without one.
func TestProverFindsDamage(t *testing.T) {
	dir, m := builtFiles(t, jobtest.Env(t))
	at := filepath.Join(dir, m.Files[1].Name)
	whole, err := os.ReadFile(at)
	if err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]struct {
		b     []byte
		blind bool // detected only by the checksum
	}{
		"whole":            {b: whole},
		"a bit":            {b: flipBit(whole)},
		"a value":          {changeValue(t, whole), true},
		"keys":             {b: breakOrder(t, whole)},
		"shorter":          {b: whole[:len(whole)-1]},
		"the trailer":      {b: append(bytes.Clone(whole[:len(whole)-3000]), bytes.Repeat([]byte{7}, 3000)...)},
		"of other content": {b: bytes.Repeat([]byte{7}, len(whole))},
	} {
		for _, known := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, checksum known %v", what, known), func(t *testing.T) {
				if err := os.WriteFile(at, c.b, 0o644); err != nil {
					t.Fatal(err)
				}
				var work []filecheck.Target
				for _, f := range m.Files {
					if !known {
						f.CRC32C = 0
					}
					work = append(work, filecheck.Target{File: f, Path: filepath.Join(dir, f.Name)})
				}
				damaged, err := (&filecheck.Checker{FS: hdfsio.Local{}}).All(t.Context(), work)
				if err != nil {
					t.Fatal(err)
				}
				if good := what == "whole" || c.blind && !known; good != (len(damaged) == 0) {
					t.Errorf("damaged: %v", damaged)
				} else if !good && (damaged[1] == nil || len(damaged) != 1) {
					t.Errorf("damaged: %v", damaged)
				}
				for i, f := range m.Files {
					if i != 1 && work[i].CRC32C != f.CRC32C {
						t.Errorf("%s: checksum %08x, written was %08x", f.Name, work[i].CRC32C, f.CRC32C)
					}
				}
				if d := damaged[1]; d != nil && bytes.ContainsAny([]byte(d.Error()), `"`) {
					t.Errorf("the message quotes data: %v", d)
				}
			})
		}
	}
}

// TestProverTellsFailuresFromDamage checks that neither a file that cannot be read nor a canceled context is reported
// as damage.
func TestProverTellsFailuresFromDamage(t *testing.T) {
	dir, m := builtFiles(t, jobtest.Env(t))
	broken := errors.New("the disk is gone")
	for _, known := range []bool{true, false} {
		f := filecheck.Target{File: m.Files[0], Path: filepath.Join(dir, m.Files[0].Name)}
		if !known {
			f.CRC32C = 0
		}
		faulty := &testfs.Faulty{FS: hdfsio.Local{}, Inject: func(op testfs.Op, _ string, offset int64) *testfs.Fault {
			if (op == testfs.OpRead || op == testfs.OpReadAt) && offset > 0 {
				return &testfs.Fault{Err: broken}
			}
			return nil
		}}
		if damaged, err := (&filecheck.Checker{FS: faulty}).All(t.Context(), []filecheck.Target{f}); !errors.Is(err, broken) || len(damaged) > 0 {
			t.Errorf("checksum known %v: %v %v", known, damaged, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if damaged, err := (&filecheck.Checker{FS: hdfsio.Local{}}).All(ctx, []filecheck.Target{f}); !errors.Is(err, context.Canceled) || len(damaged) > 0 {
			t.Errorf("checksum known %v: %v %v", known, damaged, err)
		}
	}
}

// TestChangedManifestIsRefused changes the contents of a manifest. White space
// between its fields does not count, and an older manifest has no checksum.
func TestChangedManifestIsRefused(t *testing.T) {
	dir, m := builtFiles(t, jobtest.Env(t))
	name := filepath.Join(dir, manifest.FileName)
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	swap := func(old, now string) []byte {
		if !bytes.Contains(text, []byte(old)) {
			t.Fatalf("no %s in the manifest", old)
		}
		return bytes.Replace(text, []byte(old), []byte(now), 1)
	}
	rows := fmt.Sprintf(`"rows": %d`, m.Digest.Rows)
	for what, c := range map[string]struct {
		text []byte
		good bool
	}{
		"as it is":             {text, true},
		"other blanks":         {bytes.ReplaceAll(text, []byte("\n"), []byte(" ")), true},
		"without a checksum":   {oldManifest(t, text), true},
		"another digest":       {swap(fmt.Sprint(m.Digest.Sum), "1"), false},
		"another timestamp":    {swap(fmt.Sprint(m.Timestamp), "1"), false},
		"other rows":           {swap(rows, `"rows": 1`), false},
		"other rows, old":      {oldManifest(t, swap(rows, `"rows": 1`)), false},
		"other files, old":     {oldManifest(t, swap(fmt.Sprintf(`"hfiles": %d`, m.HFiles), `"hfiles": 1`)), false},
		"another checksum":     {swap(`"checksum": "xxh64:`, `"checksum": "xxh64:0`), false},
		"a checksum of a file": {swap(fmt.Sprintf(`"crc32c": %d`, m.Files[0].CRC32C), `"crc32c": 7`), false},
	} {
		if err := os.WriteFile(name, c.text, 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := manifest.Read(t.Context(), hdfsio.Local{}, dir)
		if (err == nil) != c.good || err != nil && !strings.Contains(err.Error(), "`trust_files`") {
			t.Errorf("%s: %v", what, err)
		}
		if _, err := manifest.ReadUnchecked(t.Context(), hdfsio.Local{}, dir); err != nil {
			t.Errorf("%s, trusted: %v", what, err)
		}
	}
}
