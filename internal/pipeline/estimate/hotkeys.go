package estimate

import (
	"cmp"
	"slices"
)

const (
	// hotKeysKept is the number of query keys that a count tracks: a key with more
	// than the fraction 1/hotKeysKept of all rows is certainly among them.
	hotKeysKept = 2048
	// hotKeyText is the number of bytes of a query key's text that are kept.
	hotKeyText = 256
)

// hotKeys finds the query keys with the most rows in memory that does not
// depend on their number: the frequent-items summary of Misra and Gries. When
// it is full, the count of the middle entry is subtracted from every entry, and
// entries without a rest are dropped. A count is therefore never too high, and
// too low by at most lost, which is below the sum of all counts / hotKeysKept.
//
// The zero value is empty. A hotKeys belongs to one goroutine.
type hotKeys struct {
	index   map[uint64]int32 // entries by hash
	entries []hotEntry
	text    []byte
	lost    float64
	counts  []float64 // scratch
}

type hotEntry struct {
	hash  uint64
	count float64
	at, n uint32 // of its text
}

// add counts rows of a query key. The text is copied.
func (h *hotKeys) add(hash uint64, text []byte, rows float64) {
	if i, ok := h.index[hash]; ok {
		h.entries[i].count += rows
		return
	}
	if len(h.entries) == 2*hotKeysKept {
		h.shrink()
	}
	if h.index == nil {
		h.index = make(map[uint64]int32)
	}
	text = text[:min(len(text), hotKeyText)]
	h.index[hash] = int32(len(h.entries))
	h.entries = append(h.entries, hotEntry{hash: hash, count: rows, at: uint32(len(h.text)), n: uint32(len(text))})
	h.text = append(h.text, text...)
}

// shrink reduces the entries to at most hotKeysKept.
func (h *hotKeys) shrink() {
	h.counts = h.counts[:0]
	for _, e := range h.entries {
		h.counts = append(h.counts, e.count)
	}
	slices.Sort(h.counts)
	middle := h.counts[len(h.counts)-hotKeysKept-1]
	h.lost += middle
	clear(h.index)
	kept, text := h.entries[:0], h.text[:0]
	for _, e := range h.entries {
		if e.count -= middle; e.count > 0 {
			at := uint32(len(text))
			text = append(text, h.text[e.at:e.at+e.n]...) // kept text only moves to the left
			e.at = at
			h.index[e.hash] = int32(len(kept))
			kept = append(kept, e)
		}
	}
	h.entries, h.text = kept, text
}

// merge adds the counts of another, multiplied by factor.
func (h *hotKeys) merge(o *hotKeys, factor float64) {
	for _, e := range o.entries {
		h.add(e.hash, o.text[e.at:e.at+e.n], e.count*factor)
	}
	h.lost += o.lost * factor
}

// reset empties it and keeps its memory.
func (h *hotKeys) reset() {
	clear(h.index)
	h.entries, h.text, h.lost = h.entries[:0], h.text[:0], 0
}

// hotKey is a query key: the values of its columns, and its rows.
type hotKey struct {
	text string
	rows float64
}

// top returns the n query keys with the most rows, the heaviest first.
func (h *hotKeys) top(n int) []hotKey {
	sorted := slices.Clone(h.entries)
	slices.SortFunc(sorted, func(a, b hotEntry) int { return cmp.Or(cmp.Compare(b.count, a.count), cmp.Compare(a.hash, b.hash)) })
	keys := make([]hotKey, 0, min(n, len(sorted)))
	for _, e := range sorted[:min(n, len(sorted))] {
		keys = append(keys, hotKey{text: string(h.text[e.at : e.at+e.n]), rows: e.count})
	}
	return keys
}
