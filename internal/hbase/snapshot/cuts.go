package snapshot

import (
	"bytes"
	"context"
	"fmt"
)

// Cuts returns rows at which region i may be cut into n parts of about the same
// size, in order and without the region's bounds. They are the first rows of
// blocks of its largest file, from that file's index. There may be fewer than
// n−1; a region without files has none. They depend only on the snapshot.
func (s *Snapshot) Cuts(ctx context.Context, i, n int) ([][]byte, error) {
	r := &s.Regions[i]
	var largest *storeFile
	family := ""
	for _, f := range s.Families {
		store := r.stores[f.Name]
		for j := range store {
			if largest == nil || store[j].size > largest.size {
				largest, family = &store[j], f.Name
			}
		}
	}
	if largest == nil || n < 2 {
		return nil, nil
	}
	c, err := s.openCells(ctx, r, family, largest, &View{ReadAhead: aheadLeast})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.place(r), err)
	}
	defer c.file.close()
	rows, err := c.reader.IndexRows(indexRows * n)
	if err != nil {
		return nil, fmt.Errorf("%s: %s: %w", s.place(r), c.file.places[0], err)
	}
	from, to := 0, len(rows) // the index entries within the region; the region may have only a part of the file
	for from < to && (bytes.Compare(rows[from], r.Start) <= 0 || bytes.Compare(rows[from], c.from) <= 0) {
		from++
	}
	for to > from && (len(r.End) > 0 && bytes.Compare(rows[to-1], r.End) >= 0) {
		to--
	}
	return evenly(rows[from:to], n), nil
}

// indexRows is the number of index rows to read for each part.
const indexRows = 8

// evenly selects up to n−1 rows that cut rows into n equal parts.
func evenly(rows [][]byte, n int) (cuts [][]byte) {
	for k := 1; k < n; k++ {
		at := k * (len(rows) + 1) / n // len(rows) rows divide len(rows)+1 blocks
		if at < 1 {
			continue
		}
		if row := rows[at-1]; len(cuts) == 0 || bytes.Compare(cuts[len(cuts)-1], row) < 0 {
			cuts = append(cuts, row)
		}
	}
	return cuts
}
