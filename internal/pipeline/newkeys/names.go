package newkeys

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"sync"

	"bulkload/pkg/partition/extsort"
)

// maxNames is the maximum number of numbered columns, and maxNameBytes the maximum total size of their qualifiers, since the
// journal stores them. Cells of other columns carry their names.
const (
	maxNames     = 4096
	maxNameBytes = 1 << 20
)

// column is a family, by its index in the table, and a qualifier.
type column struct {
	family    int
	qualifier []byte
}

// columnNames numbers the columns of cells, from 1, so that cells in the sort
// have numbers in place of names. It is safe for concurrent use.
type columnNames struct {
	mu      sync.Mutex
	columns []column // by number − 1
	bytes   int      // of their qualifiers
	numbers map[string]int
	fixed   bool // no further columns are numbered
}

// number returns the number of a column, 0 if there are too many.
func (n *columnNames) number(family int, qualifier []byte) int {
	name := string(append(binary.AppendUvarint(nil, uint64(family)), qualifier...))
	n.mu.Lock()
	defer n.mu.Unlock()
	if i := n.numbers[name]; i > 0 || n.fixed || len(n.columns) == maxNames || n.bytes+len(qualifier) > maxNameBytes {
		return i
	}
	if n.numbers == nil {
		n.numbers = map[string]int{}
	}
	n.columns, n.bytes = append(n.columns, column{family, bytes.Clone(qualifier)}), n.bytes+len(qualifier)
	n.numbers[name] = len(n.columns)
	return len(n.columns)
}

// all returns the columns by their numbers. It is called when no more columns are added.
func (n *columnNames) all() []column {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.columns
}

// text encodes all columns as text, for [parseNames].
func (n *columnNames) text() string {
	var b []byte
	for _, c := range n.all() {
		b = binary.AppendUvarint(b, uint64(c.family))
		b = append(binary.AppendUvarint(b, uint64(len(c.qualifier))), c.qualifier...)
	}
	return base64.StdEncoding.EncodeToString(b)
}

// parseNames decodes the columns of a text, by their numbers.
func parseNames(text string) ([]column, error) {
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, fmt.Errorf("%w: the names of columns: %w", extsort.ErrCorrupt, err)
	}
	p := packed{rest: b}
	var columns []column
	for len(p.rest) > 0 {
		family := p.number()
		columns = append(columns, column{family, p.bytes(p.number())})
	}
	return columns, p.err
}

// numbered returns the columns of a text, without adding any others later.
func numbered(text string) (*columnNames, error) {
	columns, err := parseNames(text)
	n := &columnNames{}
	for _, c := range columns {
		n.number(c.family, c.qualifier)
	}
	n.fixed = true
	return n, err
}

// columnGuess looks up the numbers of a row's cells one after the other. It
// guesses that a column is followed by the same column as in the previous row.
// It belongs to one goroutine.
type columnGuess struct {
	names   *columnNames
	columns []column // by number − 1, those seen here
	numbers map[string]int
	after   []int // by number, 0 for the beginning of a row: the number that followed
	last    int
}

func newColumnGuess(names *columnNames) columnGuess {
	return columnGuess{names: names, numbers: map[string]int{}, after: make([]int, 1)}
}

// begin starts a row.
func (g *columnGuess) begin() { g.last = 0 }

// number returns the number of the row's next column, 0 if it has none.
func (g *columnGuess) number(family int, qualifier []byte) int {
	i := g.after[g.last]
	if i == 0 || g.columns[i-1].family != family || !bytes.Equal(g.columns[i-1].qualifier, qualifier) {
		i = g.find(family, qualifier)
		g.after[g.last] = i
	}
	g.last = i
	return i
}

func (g *columnGuess) find(family int, qualifier []byte) int {
	i := g.numbers[string(qualifier)]
	if i > 0 && g.columns[i-1].family == family {
		return i
	}
	if i = g.names.number(family, qualifier); i == 0 {
		return 0
	}
	for len(g.columns) < i {
		g.columns, g.after = append(g.columns, column{family: -1}), append(g.after, 0)
	}
	g.columns[i-1] = column{family, bytes.Clone(qualifier)}
	g.numbers[string(qualifier)] = i
	return i
}
