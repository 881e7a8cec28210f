package conformance

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/test/testcheck"
	"bulkload/pkg/hfile"
)

// A mutation changes one thing of a file at random. Mutations of a dissected file keep every checksum correct.
type mutation struct {
	name   string
	raw    func(r *random, file []byte) // changes the file in place
	within func(r *random, a *anatomy) bool
	cells  bool // the result may be a valid file of other cells
}

// flip changes one bit or one byte.
func flip(r *random, b []byte) bool {
	if len(b) == 0 {
		return false
	}
	i := r.IntN(len(b))
	if r.one(2) {
		b[i] ^= 1 << r.IntN(8)
	} else {
		b[i] ^= byte(1 + r.IntN(255))
	}
	return true
}

// inPayload flips a bit or byte in the payload of a random block with one of the given magics.
func inPayload(magics ...string) func(r *random, a *anatomy) bool {
	return func(r *random, a *anatomy) bool {
		p := anyPart(r, a, magics...)
		return p != nil && flip(r, p.payload)
	}
}

func anyPart(r *random, a *anatomy, magics ...string) *part {
	var found []*part
	for _, m := range magics {
		found = append(found, a.find(m)...)
	}
	if len(found) == 0 {
		return nil
	}
	return found[r.IntN(len(found))]
}

// number returns a wrong number near the right one, or far from it.
func number(r *random, v uint64) uint64 {
	return pick(r, v+1, v-1, 0, v^1<<r.IntN(32), ^v, v*2, r.Uint64())
}

var mutations = []mutation{
	{name: "raw bit", raw: func(r *random, f []byte) { f[r.IntN(len(f))] ^= 1 << r.IntN(8) }},
	{name: "raw bytes", raw: func(r *random, f []byte) {
		at := r.IntN(len(f) - 8)
		for i := range 1 + r.IntN(8) {
			f[at+i] = byte(r.Uint32())
		}
	}},
	{name: "raw trailer", raw: func(r *random, f []byte) { flip(r, f[len(f)-trailerSize:][:160]) }},
	{name: "data payload", within: inPayload("data"), cells: true},
	{name: "packed data", within: func(r *random, a *anatomy) bool {
		p := anyPart(r, a, "data")
		p.packed = bytes.Clone(a.pack(p))
		return flip(r, p.packed)
	}, cells: true},
	{name: "packed other", within: func(r *random, a *anatomy) bool {
		p := anyPart(r, a, "IDXLEAF2", "IDXINTE2", "IDXROOT2", "BLMFBLK2", "FILEINF2", "BLMFMET2", "DFBLMET2")
		p.packed = bytes.Clone(a.pack(p))
		return flip(r, p.packed)
	}},
	{name: "leaf or intermediate payload", within: inPayload("IDXLEAF2", "IDXINTE2")},
	{name: "root index payload", within: inPayload("IDXROOT2")},
	{name: "file info payload", within: inPayload("FILEINF2")},
	{name: "bloom chunk payload", within: inPayload("BLMFBLK2")},
	{name: "general bloom metadata payload", within: inPayload("BLMFMET2")},
	{name: "delete-family bloom metadata payload", within: inPayload("DFBLMET2")},
	{name: "block header", within: mutateHeader},
	{name: "trailer field", within: mutateTrailer},
	{name: "file info entry", within: mutateInfo},
	{name: "bloom metadata field", within: mutateBloom},
	{name: "index entry", within: mutateIndex},
	{name: "blocks exchanged or repeated", within: mutateOrder, cells: true},
}

func mutateHeader(r *random, a *anatomy) bool {
	p := a.parts[r.IntN(len(a.parts))]
	f := pick(r, [2]int{0, 8}, [2]int{8, 4}, [2]int{12, 4}, [2]int{16, 8}, [2]int{24, 1}, [2]int{25, 4}, [2]int{29, 4})
	magic, v := pick(r, a.parts...).magic, r.Uint64()
	p.header = func(h []byte) {
		b := h[f[0] : f[0]+f[1]]
		before := bytes.Clone(b)
		switch f[1] {
		case 1:
			b[0] = byte(v % 4)
		case 4:
			binary.BigEndian.PutUint32(b, uint32(number(&random{rand.New(rand.NewPCG(v, 0))}, uint64(binary.BigEndian.Uint32(b)))))
		default:
			if f[0] == 0 {
				copy(b, magic)
			} else {
				binary.BigEndian.PutUint64(b, number(&random{rand.New(rand.NewPCG(v, 0))}, binary.BigEndian.Uint64(b)))
			}
		}
		if bytes.Equal(b, before) {
			b[len(b)-1] ^= 1
		}
	}
	return true
}

func mutateTrailer(r *random, a *anatomy) bool {
	i := r.IntN(len(a.trailer))
	f := &a.trailer[i]
	switch {
	case r.one(8):
		a.trailer = slices.Delete(a.trailer, i, i+1)
	case r.one(12):
		a.version = pick(r, 2<<24|3, 1<<24|3, 3, 4<<24|3, 3<<24|2, 3<<24|4, uint32(r.Uint32()))
	case r.one(12):
		a.trailer = append(a.trailer, field{number: 13 + r.IntN(3), bytes: []byte("key")})
	case f.bytes != nil:
		f.bytes = []byte(pick(r, "", "x", "org.apache.hadoop.hbase.CellComparatorImpl", "org.apache.hadoop.hbase.MetaCellComparator",
			"org.apache.hadoop.hbase.KeyValue$RawBytesComparator", "org.apache.hadoop.hbase.KeyValue$MetaComparator"))
	case (f.number <= 2 || f.number >= 9) && r.one(2) && f.number != 12:
		old := f.v
		if f.v = uint64(a.parts[r.IntN(len(a.parts))].old); f.v == old {
			f.v++
		}
	default:
		old := f.v
		if f.v = number(r, f.v); f.v == old {
			f.v++
		}
	}
	return true
}

func mutateInfo(r *random, a *anatomy) bool {
	pairs := a.info()
	i := r.IntN(len(pairs))
	p := &pairs[i]
	switch r.IntN(9) {
	case 0:
		pairs = slices.Delete(pairs, i, i+1)
	case 1:
		pairs = append(pairs, pair{p.key, append([]byte{1}, p.value...)})
	case 2:
		p.key = pick(r, strings.ToLower(p.key), p.key+"x", p.key[1:])
	case 3:
		p.value = append(p.value, byte(r.Uint32()))
	case 4:
		p.value = p.value[:r.IntN(len(p.value)+1)]
	case 5:
		p.value = []byte(pick(r, "NONE", "ROW", "ROWCOL", "DIFF", "PREFIX", "row", "", "\xff", "\x01", "\x00"))
	case 6:
		j := r.IntN(len(pairs))
		p.value, pairs[j].value = pairs[j].value, p.value
	default:
		if !flip(r, p.value) {
			p.value = []byte{0}
		}
	}
	a.setInfo(pairs)
	return true
}

func mutateBloom(r *random, a *anatomy) bool {
	p := anyPart(r, a, "BLMFMET2", "DFBLMET2")
	if p == nil {
		return false
	}
	e := a.entries(p)
	switch i := r.IntN(len(e)); r.IntN(10) {
	case 0, 1:
		return flip(r, e[i].key)
	case 2:
		binary.BigEndian.PutUint64(e[i].place, uint64(pick(r, a.parts...).old))
	case 3:
		e[i].place[8+r.IntN(4)]++
	case 4:
		swapKeys(e[:min(len(e), 2)], 0, min(len(e), 2)-1)
	case 5:
		n, k := vlong(p.payload[40:])
		name := pick(r, "", "x", "org.apache.hadoop.hbase.CellComparatorImpl", "org.apache.hadoop.hbase.KeyValue$RawBytesComparator", "org.apache.hadoop.hbase.MetaCellComparator")
		p.payload = slices.Concat(p.payload[:40], []byte{byte(len(name))}, []byte(name), p.payload[40+k+int(n):])
	case 6:
		at := pick(r, bloomBytesAt, bloomKeysAt, bloomMaxKeysAt)
		put64(p, at, number(r, get64(p, at)))
	default:
		at := pick(r, bloomVersionAt, bloomHashesAt, bloomHashAt, bloomChunksAt)
		if at == bloomHashAt {
			put32(p, at, pick[uint32](r, 0, 2, 3, 0xffffffff))
		} else {
			put32(p, at, uint32(number(r, uint64(get32(p, at)))))
		}
	}
	return true
}

func mutateIndex(r *random, a *anatomy) bool {
	p := anyPart(r, a, "IDXLEAF2", "IDXINTE2", "IDXROOT2", "IDXROOT2")
	e := a.entries(p)
	if len(e) == 0 {
		return false
	}
	i := r.IntN(len(e))
	switch r.IntN(8) {
	case 0, 1, 2:
		return flip(r, e[i].key)
	case 3: // in the row, near its end
		n := int(binary.BigEndian.Uint16(e[i].key))
		if n == 0 || n+2 > len(e[i].key) {
			return false
		}
		e[i].key[1+n] += pick[byte](r, 1, 255)
	case 4:
		binary.BigEndian.PutUint64(e[i].place, uint64(pick(r, a.parts...).old))
	case 5:
		e[i].place[8+r.IntN(4)] += pick[byte](r, 1, 255)
	case 6:
		j := r.IntN(len(e))
		if i == j || len(e[i].key) != len(e[j].key) {
			return false
		}
		swapKeys(e, i, j)
	default:
		j := r.IntN(len(e))
		x, y := bytes.Clone(e[i].place), bytes.Clone(e[j].place)
		copy(e[i].place, y)
		copy(e[j].place, x)
	}
	return true
}

func mutateOrder(r *random, a *anatomy) bool {
	p := pick(r, a.parts...)
	same := a.find(p.magic)
	q := same[r.IntN(len(same))]
	if p == q || bytes.Equal(p.payload, q.payload) {
		return false
	}
	if r.one(2) {
		p.payload, q.payload = q.payload, p.payload
	} else {
		p.payload = q.payload
	}
	return true
}

// mutate creates a mutant, and returns its mutation, or nil if there is none.
func mutate(r *random, file []byte) (mutant []byte, m *mutation) {
	m = &mutations[r.IntN(len(mutations))]
	if m.raw != nil {
		mutant = bytes.Clone(file)
		m.raw(r, mutant)
	} else {
		a, err := dissect(file)
		if err != nil || !m.within(r, a) {
			return nil, m
		}
		if mutant, err = a.assemble(); err != nil {
			return nil, m
		}
	}
	if bytes.Equal(mutant, file) {
		return nil, m
	}
	return mutant, m
}

// mutantBase returns a small file with many blocks.
func mutantBase(r *random) ([]byte, error) {
	c := &testCase{o: r.options()}
	c.o.Compression = pick(r, hfile.CompressionNone, hfile.CompressionSnappy, hfile.CompressionGZ)
	c.o.BlockSize = pick(r, 100, 256, 1000)
	c.o.IndexBlockSize = pick(r, 64, 128, 300, 131072)
	c.cells = r.cells(c.o)
	// HBase's time for a verdict is proportional to the size of the file
	size := 0
	for i := range c.cells {
		if size += len(c.cells[i].Row) + len(c.cells[i].Qualifier) + len(c.cells[i].Value) + len(c.cells[i].Tags); size > 40_000 || i == 200 {
			c.cells = c.cells[:max(i, 1)]
			break
		}
	}
	return c.write()
}

// checksumTypeAt is the position of the checksum type in the header of a block, the first of a file here.
const checksumTypeAt = 24

// verdicts counts mutants by the results for them.
type verdicts map[string]map[string]int

func (v verdicts) count(kind, verdict string) {
	for _, k := range []string{kind, "all"} {
		if v[k] == nil {
			v[k] = map[string]int{}
		}
		v[k][verdict]++
	}
}

func (v verdicts) String() string {
	var b strings.Builder
	for _, k := range slices.Sorted(maps.Keys(v)) {
		fmt.Fprintf(&b, "\n%-38s", k)
		for _, name := range slices.Sorted(maps.Keys(v["all"])) {
			fmt.Fprintf(&b, "  %s %d", name, v[k][name])
		}
	}
	return b.String()
}

// TestMutants changes files at random and reads them with both sides. HBase must read what Check accepts, with the
// cells that this package reads, which are those of the undamaged file except for changes in the cells themselves.
// BULKLOAD_MUTANTS is the number of mutants, BULKLOAD_MUTANTS_SEED makes them reproducible.
func TestMutants(t *testing.T) {
	if testing.Short() {
		t.Skip("runs a JVM")
	}
	judge := newJudge(t)
	seed := envInt(t, "BULKLOAD_MUTANTS_SEED", testcheck.Seed(t)>>32)
	most := int(envInt(t, "BULKLOAD_MUTANTS", 120))
	t.Logf("BULKLOAD_MUTANTS_SEED=%d BULKLOAD_MUTANTS=%d", seed, most)
	r := &random{rand.New(rand.NewPCG(seed, 0))}
	dir, keep := t.TempDir(), os.Getenv("BULKLOAD_CONFORMANCE_DIR")
	counts := verdicts{}
	var file []byte
	var base string
	misses := 0
	for n := 0; n < most; {
		if file == nil || r.one(25) {
			misses = 0
			var err error
			if file, err = mutantBase(r); err != nil {
				t.Fatal(err)
			}
			if res := checkBytes(file); !res.OK {
				t.Fatalf("the undamaged file: %v", res.Errors)
			}
			if base = judge.verdict(t, dir, file); !strings.HasPrefix(base, "reads\t") {
				base = judge.anew(t, dir, file) // an earlier mutant may have damaged the JVM
			}
			if !strings.HasPrefix(base, "reads\t") {
				t.Fatalf("the undamaged file: HBase %s\nkept in %s", base, keepMutant(t, keep, n, file, file))
			}
		}
		mutant, m := mutate(r, file)
		if mutant == nil {
			if misses++; misses == 20 {
				file = nil // few mutations apply to it
			}
			continue
		}
		n++
		res := checkBytes(mutant)
		theirs := judge.verdict(t, dir, mutant)
		// without checksums a changed value is a valid value
		cells := m.cells || m.raw != nil && file[checksumTypeAt] == 0
		if res.OK && fault(t, theirs, base, mutant, cells) != "" {
			theirs = judge.anew(t, dir, mutant) // an earlier mutant may have damaged the JVM
		}
		word, _, _ := strings.Cut(theirs, "\t")
		same := theirs == base
		if res.OK {
			counts.count(m.name, "accepted")
			wrong := fault(t, theirs, base, mutant, cells)
			if wrong == "" && !cells && !same {
				counts.count(m.name, "accepted, HBase says otherwise of the file")
				t.Logf("mutant %d, %s, is accepted: HBase says otherwise of the file\nkept in %s", n, m.name, keepMutant(t, keep, n, file, mutant))
			}
			if wrong != "" {
				counts.count(m.name, "ACCEPTED WRONGLY")
				t.Errorf("mutant %d, %s, is accepted: %s\nkept in %s", n, m.name, wrong, keepMutant(t, keep, n, file, mutant))
			}
			continue
		}
		switch {
		case same:
			counts.count(m.name, "refused, HBase reads the same")
			t.Logf("%s: HBase reads the same; %s", m.name, res.Errors[0])
		case word == "reads":
			counts.count(m.name, "refused, HBase reads otherwise")
		default:
			counts.count(m.name, "refused, HBase "+word)
		}
	}
	t.Logf("verdicts:%s", counts)
}

// fault returns the reason why accepting a mutant is wrong when HBase's result for it is theirs; base is HBase's
// result for the original file. cells means that the mutant may be a file of other cells.
func fault(t testing.TB, theirs, base string, mutant []byte, cells bool) string {
	t.Helper()
	says, said := strings.Split(theirs, "\t"), strings.Split(base, "\t")
	switch {
	case says[0] != "reads":
		return "HBase " + theirs
	case says[2] != fmt.Sprintf("%x", digest(t, mutant)):
		return "HBase reads other cells than this package"
	case !cells && says[2] != said[2]:
		return "HBase reads other cells than in the undamaged file"
	}
	return ""
}

// digest returns the digest of a file's cells as read by this package.
func digest(t testing.TB, file []byte) []byte {
	t.Helper()
	r, err := hfile.Open(bytes.NewReader(file), int64(len(file)), hfile.ReaderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.New()
	var line []byte
	s := r.Scan()
	for s.Next() {
		line = append(hfile.AppendCellText(line[:0], s.Cell()), '\n')
		sum.Write(line)
	}
	if s.Err() != nil {
		t.Fatal(s.Err())
	}
	return sum.Sum(nil)
}

// keepMutant saves a mutant and its original.
func keepMutant(t testing.TB, dir string, n int, file, mutant []byte) string {
	t.Helper()
	if dir == "" {
		dir = t.ArtifactDir()
	}
	name := filepath.Join(dir, fmt.Sprintf("mutant-%d.hfile", n))
	for name, b := range map[string][]byte{name: mutant, name + ".undamaged": file} {
		if err := os.WriteFile(name, b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return name
}
