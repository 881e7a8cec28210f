package testsnapshot

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"bulkload/pkg/hfile"
)

// Key identifies a cell by its row, family, qualifier and timestamp.
func Key(c *hfile.Cell) string { return fmt.Sprintf("%s %d", column(c), c.Timestamp) }

func column(c *hfile.Cell) string { return fmt.Sprintf("%s %s %s", c.Row, c.Family, c.Qualifier) }

// Seen returns the cells that a reader of the given number of versions sees in a table without equal cells: the value
// of each cell by its [Key].
func Seen(cells []hfile.Cell, versions int) map[string]string {
	columns := map[string][]hfile.Cell{}
	for _, c := range cells {
		if c.Type == hfile.Put && !slices.ContainsFunc(cells, func(m hfile.Cell) bool { return deletes(&m, &c) }) {
			columns[column(&c)] = append(columns[column(&c)], c)
		}
	}
	seen := map[string]string{}
	for _, all := range columns {
		slices.SortFunc(all, func(a, b hfile.Cell) int { return cmp.Compare(b.Timestamp, a.Timestamp) })
		for _, c := range all[:min(len(all), versions)] {
			seen[Key(&c)] = string(c.Value)
		}
	}
	return seen
}

// deletes reports whether m is a marker that hides c.
func deletes(m, c *hfile.Cell) bool {
	if !bytes.Equal(m.Row, c.Row) || !bytes.Equal(m.Family, c.Family) {
		return false
	}
	sameColumn := bytes.Equal(m.Qualifier, c.Qualifier)
	return m.Type == hfile.DeleteFamily && m.Timestamp >= c.Timestamp || m.Type == hfile.DeleteFamilyVersion && m.Timestamp == c.Timestamp ||
		m.Type == hfile.DeleteColumn && sameColumn && m.Timestamp >= c.Timestamp || m.Type == hfile.Delete && sameColumn && m.Timestamp == c.Timestamp
}

// Compacted returns the result of a compaction of the given cells: the newest versions of cells that no marker hides, and the markers,
// which a compaction of all files omits.
func Compacted(cells []hfile.Cell, versions int, markers bool) (kept []hfile.Cell) {
	seen := Seen(cells, versions)
	for _, c := range cells {
		if _, ok := seen[Key(&c)]; c.Type == hfile.Put && ok || c.Type != hfile.Put && markers {
			kept = append(kept, c)
		}
	}
	return kept
}
