package data

import (
	"bytes"

	"bulkload/pkg/keygen"
)

// maxRowsPerKey is the greatest number of rows with the same query key; the least is 1.
const maxRowsPerKey = 30

// Generator generates the rows of a Spec in sequence.
type Generator struct {
	spec   Spec
	table  layout
	rnd    random
	made   int64
	left   int    // further rows of the current query key
	number []byte // of the current query key: check_id or buss_no
	kind   string // business_type of the current query key
	hot    []byte // number of the key of Spec.KeyShare
	heat   string
	buf    []byte
	ends   []int
	fields [][]byte
}

// NewGenerator returns a generator at the first row.
func NewGenerator(s Spec) (*Generator, error) {
	s = s.withDefaults()
	if err := s.Validate(); err != nil {
		return nil, err
	}
	g := &Generator{spec: s, table: layouts[s.Table], rnd: random{s.Seed*0x9e3779b97f4a7c15 + 1}}
	g.hot, g.heat = g.queryKey(nil)
	return g, nil
}

// Columns returns the names of the fields.
func (g *Generator) Columns() []string { return g.table.columns }

var kinds = []string{"01", "02", "03", "LOAN", "CARD"}

// Next returns the fields of the next row, valid until the next call, or false after the last row.
func (g *Generator) Next() ([][]byte, bool) {
	if g.made == g.spec.Rows {
		return nil, false
	}
	g.made++
	if g.left == 0 {
		g.left = 1 + g.rnd.below(maxRowsPerKey)
		g.number, g.kind = g.queryKey(g.number[:0])
	}
	g.left--
	number, kind := g.number, g.kind
	if g.rnd.chance(g.spec.KeyShare) {
		number, kind = g.hot, g.heat
	}
	g.buf, g.ends = g.buf[:0], g.ends[:0]
	if g.spec.Table == Opinion {
		g.opinion(number, kind)
	} else {
		g.check(number)
	}
	if g.spec.Flat {
		flatten(g.buf)
	}
	g.fields = g.fields[:0]
	start := 0
	for _, end := range g.ends {
		g.fields = append(g.fields, g.buf[start:end:end])
		start = end
	}
	return g.fields, true
}

// queryKey draws a key, repeatedly until it is in the region that Spec.RegionShare requires.
func (g *Generator) queryKey(dst []byte) ([]byte, string) {
	inHot := g.rnd.chance(g.spec.RegionShare)
	for {
		dst = g.rnd.text(dst[:0], alphanum, 10+g.rnd.below(23))
		kind := kinds[g.rnd.below(len(kinds))]
		if g.spec.RegionShare == 0 {
			return dst, kind
		}
		if (g.region(dst, kind) == 0) == inHot {
			return dst, kind
		}
	}
}

// region returns the salt of a query key.
func (g *Generator) region(number []byte, kind string) int {
	if g.spec.Table == Opinion {
		number = append(number, kind...)
	}
	h := int(keygen.JavaHash(number)) % g.spec.Regions
	return max(h, -h)
}

func (g *Generator) end() { g.ends = append(g.ends, len(g.buf)) }

func (g *Generator) constant(s string) { g.buf = append(g.buf, s...); g.end() }

func (g *Generator) oneOf(values ...string) { g.constant(values[g.rnd.below(len(values))]) }

func (g *Generator) code(prefix, set string, n int) {
	g.buf = g.rnd.text(append(g.buf, prefix...), set, n)
	g.end()
}

func (g *Generator) date() { g.buf = g.rnd.date(g.buf); g.end() }

// remark appends free text in one case of n, and an empty field in the others.
func (g *Generator) remark(n, most int) {
	if g.rnd.below(n) == 0 {
		g.buf = g.rnd.prose(g.buf, most)
	}
	g.end()
}

// appendUsers appends the users who created and changed a row, and the times.
func (g *Generator) appendUsers(user []byte) {
	for range 2 {
		g.buf = append(g.buf, user...)
		g.end()
		g.date()
	}
}

func (g *Generator) user() []byte {
	var room [8]byte
	return g.rnd.text(append(room[:0], 'u'), digits, 5)
}

func (g *Generator) check(number []byte) {
	user := g.user()
	g.buf = g.rnd.hex(g.buf, 32)
	g.end()
	g.buf = append(g.buf, number...)
	g.end()
	g.code("R", digits, 4)
	g.code("", digits, g.rnd.below(4))
	g.code("", "ABC", 1)
	g.remark(1, 2)
	g.remark(1, 4)
	g.code("", "YN", 1)
	g.oneOf("", "", "PASS", "REJECT")
	g.oneOf("", "", "C01", "C17")
	g.remark(4, 1)
	g.appendUsers(user)
	g.remark(4, 1)
	g.constant("0")
	g.code("", digits, 4)
}

func (g *Generator) opinion(number []byte, kind string) {
	user := g.user()
	g.buf = g.rnd.hex(g.buf, 32)
	g.end()
	g.buf = append(g.buf, number...)
	g.end()
	g.code("Q", digits, 2)
	g.code("Q", digits, 2)
	g.buf = append(g.buf, user...)
	g.end()
	g.date()
	g.remark(1, 6)
	g.remark(1, 4)
	g.constant(kind)
	g.remark(1, 4)
	g.code("", "ADR", 1)
	g.remark(2, 1)
	g.appendUsers(user)
	g.remark(3, 1)
	g.constant("0")
	g.code("", digits, 4)
}

// flatten replaces the separators of records and columns of a TSV file by spaces.
func flatten(b []byte) {
	for i := bytes.IndexAny(b, "\t\n\r"); i >= 0 && i < len(b); i++ {
		switch b[i] {
		case '\t', '\n', '\r':
			b[i] = ' '
		}
	}
}
