package conformance

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"bulkload/internal/test/testcheck"
	"bulkload/pkg/hfile"
)

func envInt(t testing.TB, name string, unset uint64) uint64 {
	t.Helper()
	v := os.Getenv(name)
	if v == "" {
		return unset
	}
	n, err := strconv.ParseUint(v, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// TestRandomCases writes random cells under random settings with this
// package's writer and with HBase's, and reads both with both.
func TestRandomCases(t *testing.T) {
	if testing.Short() {
		t.Skip("runs a JVM for minutes")
	}
	seed := envInt(t, "BULKLOAD_CONFORMANCE_SEED", testcheck.Seed(t)>>32)
	cases := int(envInt(t, "BULKLOAD_CONFORMANCE_CASES", 80))
	first := int(envInt(t, "BULKLOAD_CONFORMANCE_FIRST", 0))
	t.Logf("BULKLOAD_CONFORMANCE_SEED=%d, cases %d to %d", seed, first, first+cases-1)
	java := startHBase(t, zstdModule)
	dir := t.TempDir()
	counts := map[string]int{}
	bad := 0
	for i := first; i < first+cases && bad < 10; i++ {
		c := randomCase(seed, i)
		if err := c.hold(dir, java, counts); err != nil {
			bad++
			t.Errorf("%s, %d cells, %+v: %v\nkept in %s", c.name, len(c.cells), c.o, err, c.keep(t))
		}
	}
	t.Logf("compared: %v", counts)
}

// TestZstdFrames compares files of plain Zstandard frames, which need a JVM with special configuration.
func TestZstdFrames(t *testing.T) {
	if testing.Short() {
		t.Skip("runs a JVM")
	}
	java := startHBase(t, zstdFrames)
	dir := t.TempDir()
	for i := range 20 {
		c := randomCase(2, i)
		c.o.Compression, c.o.Zstd = hfile.CompressionZSTD, hfile.ZstdPlain
		if err := c.hold(dir, java, map[string]int{}); err != nil {
			t.Errorf("%s: %v\nkept in %s", c.name, err, c.keep(t))
		}
	}
}

// keep saves the input of a failing case.
func (c *testCase) keep(t testing.TB) string {
	t.Helper()
	dir := os.Getenv("BULKLOAD_CONFORMANCE_DIR")
	if dir == "" {
		dir = t.ArtifactDir()
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	base := filepath.Join(dir, c.name)
	for name, b := range map[string][]byte{".cells": c.text(), ".options": []byte(strings.Join(c.words(), " ") + "\n")} {
		if err := os.WriteFile(base+name, b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return base + ".cells"
}

// hold runs all checks of one case. It overwrites the directory's files.
func (c *testCase) hold(dir string, java *jvm, counts map[string]int) error {
	text := c.text()
	ours, err := c.write()
	if err != nil {
		return fmt.Errorf("write: %w", err)
	}
	if err := readBack("ours", ours, text); err != nil {
		return err
	}
	counts["cases"]++
	counts[c.o.Compression.String()]++
	in, oursName, theirsName, out := filepath.Join(dir, "cells"), filepath.Join(dir, "ours"), filepath.Join(dir, "theirs"), filepath.Join(dir, "out")
	if err := errors.Join(os.WriteFile(in, text, 0o644), os.WriteFile(oursName, ours, 0o644)); err != nil {
		return err
	}
	if _, _, err := java.run(in, out, append([]string{"write", theirsName}, c.words()...)...); err != nil {
		return err
	}
	theirs, err := os.ReadFile(theirsName)
	if err != nil {
		return err
	}
	if c.o.Compression == hfile.CompressionNone {
		if at := differ(ours, theirs); at >= 0 {
			return fmt.Errorf("file of %d bytes differs from HBase's of %d at offset %d\n%s", len(ours), len(theirs), at, c.firstDifference(ours, theirs))
		}
	} else if d := c.firstDifference(ours, theirs); d != "" {
		return errors.New("blocks differ\n" + d)
	}
	if err := readBack("HBase's", theirs, text); err != nil {
		return err
	}
	return c.judge(java, out, oursName, ours, theirsName, theirs, text)
}

// judge reads our file with HBase, and compares our report on HBase's file with Java's.
func (c *testCase) judge(java *jvm, out, oursName string, ours []byte, theirsName string, theirs, text []byte) error {
	got, _, err := java.run("", out, "cells", oursName)
	if err != nil {
		return fmt.Errorf("HBase reads ours: %w", err)
	}
	if at := differ(got, text); at >= 0 {
		return fmt.Errorf("HBase reads other cells from ours, from byte %d of their text", at)
	}
	if got, _, err = java.run("", out, "check", "--probes", "200", oursName); err != nil {
		return fmt.Errorf("HBase checks ours: %w", err)
	}
	if err := c.sameCheck(got, hfile.Check(bytes.NewReader(ours), int64(len(ours)), hfile.CheckOptions{Name: oursName, Probes: 200})); err != nil {
		return err
	}
	if got, _, err = java.run("", out, "blocks", theirsName); err != nil {
		return fmt.Errorf("HBase dumps its own: %w", err)
	}
	mine, err := dump(theirs)
	if err != nil {
		return fmt.Errorf("dump of HBase's: %w", err)
	}
	if at := differ(mine, got); at >= 0 {
		return fmt.Errorf("our dump of HBase's file differs from Java's at byte %d:\n got %s\nwant %s", at, lineAt(mine, at), lineAt(got, at))
	}
	return nil
}

// sameCheck compares the two reports on one file, which HBase must accept. Each draws its own keys for the false-positive
// rate.
func (c *testCase) sameCheck(theirs []byte, ours hfile.CheckResult) error {
	var judged, mine map[string]any
	if err := json.Unmarshal(theirs, &judged); err != nil {
		return fmt.Errorf("HFileJudge's check says %q: %w", theirs, err)
	}
	b, err := json.Marshal(ours)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, &mine); err != nil {
		return err
	}
	if !ours.OK {
		return fmt.Errorf("our check finds %q", ours.Errors)
	}
	if judged["ok"] != true {
		return fmt.Errorf("HBase's check of ours finds %s", theirs)
	}
	if _, asked := judged["bloom_fp_rate"]; asked != (ours.BloomFalsePositives != nil) {
		return fmt.Errorf("only one of the checks has a false-positive rate:\n got %s\nwant %s", b, theirs)
	}
	delete(judged, "bloom_fp_rate")
	delete(mine, "bloom_fp_rate")
	a, _ := json.Marshal(mine)
	b, _ = json.Marshal(judged)
	if !bytes.Equal(a, b) {
		return fmt.Errorf("checks of one file differ:\n got %s\nwant %s", a, b)
	}
	return nil
}

func (c *testCase) write() ([]byte, error) {
	var out bytes.Buffer
	w, err := hfile.NewWriter(&out, c.o)
	if err != nil {
		return nil, err
	}
	for i := range c.cells {
		if err := w.Append(&c.cells[i]); err != nil {
			return nil, err
		}
	}
	_, err = w.Finish()
	return out.Bytes(), err
}

// readBack reads a file with our reader and compares the cells.
func readBack(whose string, file, text []byte) error {
	r, err := hfile.Open(bytes.NewReader(file), int64(len(file)), hfile.ReaderOptions{})
	if err != nil {
		return fmt.Errorf("open %s: %w", whose, err)
	}
	s := r.Scan()
	var line []byte
	for n := 0; s.Next(); n++ {
		line = append(hfile.AppendCellText(line[:0], s.Cell()), '\n')
		if !bytes.HasPrefix(text, line) {
			return fmt.Errorf("%s: cell %d is %.200q, not %.200q", whose, n, line, text)
		}
		text = text[len(line):]
	}
	if err := s.Err(); err != nil {
		return fmt.Errorf("read %s: %w", whose, err)
	}
	if len(text) > 0 {
		return fmt.Errorf("%s: cells are missing from %.200q on", whose, text)
	}
	return nil
}

func dump(file []byte) ([]byte, error) {
	r, err := hfile.Open(bytes.NewReader(file), int64(len(file)), hfile.ReaderOptions{})
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = r.Dump(&b)
	return b.Bytes(), err
}

// firstDifference returns the first line in which the dumps of two files differ, ignoring everything that depends on
// the packed size of blocks.
func (c *testCase) firstDifference(ours, theirs []byte) string {
	a, err := dump(ours)
	if err != nil {
		return fmt.Sprintf("dump of ours: %v", err)
	}
	b, err := dump(theirs)
	if err != nil {
		return fmt.Sprintf("dump of HBase's: %v", err)
	}
	x, y := placeless(a), placeless(b)
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			return fmt.Sprintf("line %d\n got %s\nwant %s", i+1, x[i], y[i])
		}
	}
	if len(x) != len(y) {
		return fmt.Sprintf("%d lines, want %d", len(x), len(y))
	}
	return ""
}

// placeless blanks the fields of a dump that depend on packed sizes.
func placeless(dump []byte) []string {
	var lines []string
	for line := range strings.Lines(string(dump)) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		switch f[0] {
		case "BLOCK":
			f[2], f[4], f[6], f[10] = "", "", "", ""
		case "TRAILER":
			if strings.HasSuffix(f[1], "_offset") {
				f[2] = ""
			}
		case "ROOT":
			f[2], f[3] = "", ""
		case "MIDKEYMETA":
			f[1], f[2] = "", ""
		}
		lines = append(lines, strings.Join(f, "\t"))
	}
	return lines
}

// differ returns the first position at which two byte strings differ, -1 if none.
func differ(a, b []byte) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	if len(a) != len(b) {
		return min(len(a), len(b))
	}
	return -1
}

func lineAt(b []byte, at int) []byte {
	from := bytes.LastIndexByte(b[:at], '\n') + 1
	line, _, _ := bytes.Cut(b[from:], []byte{'\n'})
	return line
}
