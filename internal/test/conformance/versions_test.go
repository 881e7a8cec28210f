package conformance

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"bulkload/pkg/hfile"
)

// versions are the profiles of testdata/hfile/compat/pom.xml for versions of HBase.
var versions = []string{"1.4.14", "2.4.18", "2.5.13-hadoop3", "3.0.0-beta-1"}

// TestVersions reads our files with other versions of HBase, and reads theirs.
func TestVersions(t *testing.T) {
	if os.Getenv("BULKLOAD_COMPAT") != "1" {
		t.Skip("BULKLOAD_COMPAT=1 fetches four versions of HBase and runs each")
	}
	seed := envInt(t, "BULKLOAD_CONFORMANCE_SEED", 1)
	cases := int(envInt(t, "BULKLOAD_CONFORMANCE_CASES", 100))
	codecs, err := profileJars(t.Context(), "codecs")
	if err != nil {
		t.Fatal(err)
	}
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			lib, err := profileJars(t.Context(), version)
			if err != nil {
				t.Fatal(err)
			}
			classes, dir := t.TempDir(), t.TempDir()
			path := filepath.Join(lib, "*") + ":" + filepath.Join(codecs, "*")
			if err := compile(t.Context(), classes, path, filepath.Join(javaDir, "VersionBatch.java")); err != nil {
				t.Fatal(err)
			}
			java := startJVM(t, classes+":"+path, "VersionBatch")
			cells := 0
			for i := range cases {
				c := randomCase(seed, i)
				if c.o.Compression == hfile.CompressionZSTD {
					c.o.Compression = hfile.CompressionSnappy // its classes differ between versions
				}
				if c.o.Bloom == hfile.BloomRowPrefix {
					c.o.Bloom = hfile.BloomRow // not in 1.4
				}
				if err := c.exchange(dir, java); err != nil {
					t.Errorf("%s, %d cells, %+v: %v\nkept in %s", c.name, len(c.cells), c.o, err, c.keep(t))
				}
				cells += len(c.cells)
			}
			t.Logf("%d files each way, %d cells, seed %d", cases, cells, seed)
		})
	}
}

// exchange writes a file on either side and reads it on the other.
func (c *testCase) exchange(dir string, java *jvm) error {
	text := c.text()
	in, file, out := filepath.Join(dir, "cells"), filepath.Join(dir, "hfile"), filepath.Join(dir, "out")
	ours, err := c.write()
	if err != nil {
		return err
	}
	if err := errors.Join(os.WriteFile(in, text, 0o644), os.WriteFile(file, ours, 0o644)); err != nil {
		return err
	}
	got, _, err := java.run("", out, "read", file)
	if err != nil {
		return fmt.Errorf("HBase reads ours: %w", err)
	}
	if at := differ(got[:min(len(got), len(text))], text); at >= 0 {
		return fmt.Errorf("HBase reads other cells from ours, from byte %d of their text", at)
	}
	bloom := c.o.Bloom != hfile.BloomNone
	want := fmt.Sprintf("#cells=%d entries=%d bloom=%s bloom_read=%v false_negatives=0 wrong_seeks=0 mid_key=true checksum_failures=0\n",
		len(c.cells), len(c.cells), c.o.Bloom, bloom)
	if found := string(got[len(text):]); found != want {
		return fmt.Errorf("HBase finds of ours\n     %swant %s", found, want)
	}
	if _, _, err := java.run(in, out, "write", file, c.o.Compression.String(), c.o.Encoding.String(), c.o.Bloom.String(),
		strconv.Itoa(c.o.BlockSize)); err != nil {
		return fmt.Errorf("HBase writes: %w", err)
	}
	theirs, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if err := readBack("HBase's", theirs, text); err != nil {
		return err
	}
	if res := hfile.Check(bytes.NewReader(theirs), int64(len(theirs)), hfile.CheckOptions{Name: file, Probes: 100}); !res.OK || res.Seeks == 0 || bloom != (res.Bloom != "NONE") {
		return fmt.Errorf("our check of HBase's: %q, %+v", res.Errors, res)
	}
	return nil
}
