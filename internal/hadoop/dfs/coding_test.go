package dfs

import (
	"bytes"
	"encoding/hex"
	"flag"
	"fmt"
	"math/bits"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testcluster"
)

// dealt returns the internal blocks of a group, built byte by byte as a writer does: a cell to each data block in turn. For parity,
// data blocks are padded with zeros.
func dealt(t testing.TB, p Policy, data []byte) [][]byte {
	t.Helper()
	units := make([][]byte, p.units())
	for i, b := range data {
		to := i / int(p.Cell) % p.Data
		units[to] = append(units[to], b)
	}
	padded, wanted := make([][]byte, p.units()), make([]bool, p.units())
	for i := range padded {
		if wanted[i] = i >= p.Data; !wanted[i] {
			padded[i] = append(bytes.Clone(units[i]), make([]byte, len(units[0])-len(units[i]))...)
		}
	}
	c := coder{Policy: p}
	testcheck.Must(t, c.rebuild(padded, wanted))
	copy(units[p.Data:], padded[p.Data:])
	return units
}

// TestLayout compares places and lengths of internal blocks with a byte-by-byte writer.
func TestLayout(t *testing.T) {
	testcheck.Check(t, func(rt *rapid.T) {
		p := Policy{Codec: "rs", Data: rapid.IntRange(1, 12).Draw(rt, "data"), Parity: rapid.IntRange(1, 4).Draw(rt, "parity"), Cell: rapid.Int64Range(1, 9).Draw(rt, "cell")}
		stripe := int(p.Cell) * p.Data
		n := rapid.OneOf(rapid.IntRange(1, 4*stripe), rapid.Map(rapid.IntRange(0, 3), func(n int) int { return max(n*stripe-1, 1) }),
			rapid.Map(rapid.IntRange(0, 3), func(n int) int { return n*stripe + 1 })).Draw(rt, "n")
		data := noise(n)
		units := dealt(t, p, data)
		for i, u := range units {
			if got := p.size(int64(n), i); got != int64(len(u)) {
				rt.Fatalf("block %d has %d bytes, want %d", i, got, len(u))
			}
		}
		for off, b := range data {
			if i, at := p.place(int64(off)); units[i][at] != b {
				rt.Fatalf("byte %d is not at byte %d of block %d", off, at, i)
			}
		}
	})
}

var update = flag.Bool("update", false, "have Hadoop's coders write testdata/coder.txt")

// TestCoderIsHadoops checks that the parity equals that of Hadoop's coders, and that every loss that a policy tolerates is
// reconstructed.
func TestCoderIsHadoops(t *testing.T) {
	file := filepath.Join("testdata", "coder.txt")
	if *update {
		lib, err := testcluster.Jars(t.Context())
		testcheck.Must(t, err)
		testcheck.Must(t, os.WriteFile(file, testcheck.Java(t, nil, "-cp", filepath.Join(lib, "*"), "../../../testdata/cluster/java3/CoderVectors.java"), 0o644))
	}
	text, err := os.ReadFile(file)
	testcheck.Must(t, err)
	hadoops := map[Policy][][]byte{}
	for line := range strings.Lines(string(text)) {
		var p Policy
		var index int
		var parity []byte
		if _, err := fmt.Sscanf(line, "%s %d %d %d %x", &p.Codec, &p.Data, &p.Parity, &index, &parity); err != nil || index != len(hadoops[p]) {
			t.Fatalf("%q: %v", line, err)
		}
		hadoops[p] = append(hadoops[p], parity)
	}
	if len(hadoops) != 7 {
		t.Fatalf("%d coders", len(hadoops))
	}
	for p, parity := range hadoops {
		units := make([][]byte, p.Data, p.units())
		for i := range units {
			units[i] = make([]byte, len(parity[0]))
			for j := range units[i] {
				units[i][j] = byte(89*i + 31*j + i*j*j)
			}
		}
		units = append(units, parity...)
		c := coder{Policy: p}
		for lost := range uint(1) << p.units() {
			if n := bits.OnesCount(lost); n == 0 || n > p.Parity {
				continue
			}
			left, wanted := make([][]byte, p.units()), make([]bool, p.units())
			for i := range left {
				if wanted[i] = (lost>>i)&1 != 0; !wanted[i] {
					left[i] = units[i]
				}
			}
			testcheck.Must(t, c.rebuild(left, wanted))
			for i := range left {
				if !bytes.Equal(left[i], units[i]) {
					t.Fatalf("%+v, without %b: unit %d is %s, want %s", p, lost, i, hex.EncodeToString(left[i]), hex.EncodeToString(units[i]))
				}
			}
		}
	}
}

// TestPolicies checks that HDFS's built-in policies are known by number, and that other or unsupported policies have a name.
func TestPolicies(t *testing.T) {
	for id, want := range map[uint32]struct {
		name      string
		supported bool
	}{
		1: {"RS-6-3-1024k", true}, 2: {"RS-3-2-1024k", true}, 3: {"RS-LEGACY-6-3-1024k", false}, 4: {"XOR-2-1-1024k", true}, 5: {"RS-10-4-1024k", true},
		70: {"policy 70", false},
	} {
		if p := PolicyOf(id, Policy{}); p.Name != want.name || p.Supported() != want.supported {
			t.Errorf("policy %d: %+v", id, p)
		}
	}
	good := Policy{"RS-4-2-64k", "rs", 4, 2, 64 << 10}
	if p := PolicyOf(64, good); p != good || !p.Supported() {
		t.Errorf("a policy of the site: %+v", p)
	}
	for what, change := range map[string]func(*Policy){
		"of another codec": func(p *Policy) { p.Codec = "rs-legacy" }, "xor with two units of parity": func(p *Policy) { p.Codec = "xor" },
		"without data": func(p *Policy) { p.Data = 0 }, "without parity": func(p *Policy) { p.Parity = 0 }, "of too many units": func(p *Policy) { p.Data = 15 },
		"with cells of nothing": func(p *Policy) { p.Cell = 0 }, "with cells that are too large": func(p *Policy) { p.Cell = maxCell + 1 },
	} {
		p := good
		if change(&p); p.Supported() {
			t.Errorf("a policy %s is supported: %+v", what, p)
		}
	}
}
