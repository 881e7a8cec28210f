package extsort

import (
	"bytes"
	"slices"
)

// loserTree finds the least of k cursors with about log2(k) comparisons per
// row: each inner node keeps the loser of its match.
type loserTree struct {
	cursors []cursor
	losers  []int // losers[0] is the overall winner
	winners []int // buffer of play
}

func newLoserTree(cursors []cursor) *loserTree {
	t := &loserTree{cursors: cursors}
	t.play()
	return t
}

func (t *loserTree) play() {
	k := len(t.cursors)
	t.losers = slices.Grow(t.losers[:0], max(k, 1))[:max(k, 1)]
	// Bottom up: leaf i is node k+i, the parent of node n is n/2.
	t.winners = slices.Grow(t.winners[:0], 2*k)[:2*k]
	winners := t.winners
	for i := range k {
		winners[k+i] = i
	}
	for n := k - 1; n >= 1; n-- {
		a, b := winners[2*n], winners[2*n+1]
		if t.less(b, a) {
			a, b = b, a
		}
		winners[n], t.losers[n] = a, b
	}
	if k > 0 {
		t.losers[0] = winners[min(1, len(winners)-1)]
	}
}

// min returns the cursor at the least row. If that cursor has ended, all cursors have ended.
func (t *loserTree) min() *cursor { return &t.cursors[t.losers[0]] }

// replay restores the tree after the least cursor has moved.
func (t *loserTree) replay() {
	winner := t.losers[0]
	for n := (winner + len(t.cursors)) / 2; n >= 1; n /= 2 {
		if t.less(t.losers[n], winner) {
			winner, t.losers[n] = t.losers[n], winner
		}
	}
	t.losers[0] = winner
}

func (t *loserTree) less(i, j int) bool {
	a, b := &t.cursors[i], &t.cursors[j]
	if a.ended || b.ended {
		return !a.ended
	}
	if a.sort != b.sort {
		return a.sort < b.sort
	}
	if c := bytes.Compare(a.key(), b.key()); c != 0 {
		return c < 0
	}
	return a.seq() < b.seq()
}
