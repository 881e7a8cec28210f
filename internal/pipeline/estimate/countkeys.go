package estimate

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strconv"
	"strings"

	"bulkload/internal/model/progress"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/pipeline/cells"
	"bulkload/pkg/keygen/rowkey"
	"bulkload/pkg/partition"
)

// heavyKeys is the number of query keys that an estimate lists.
const heavyKeys = 5

// countKeys counts the keys of the input or of a part of it. If split points
// are requested, it derives them from the keys, stores them in the plan, and
// counts the same rows for the new regions.
func (s *scaled) countKeys(ctx context.Context, o BuildOptions) (*tally, error) {
	c := &counting{plan: s.Plan, plans: s.plans, table: s.table, in: s.Input, options: o.Options, query: indexes(s.Plan.Columns, o.query)}
	if !o.Exact {
		c.options.Events = progress.Events{}
	}
	o.Events.Phase("count keys")
	switch {
	case s.Rows == 0 && !o.Exact:
		return newTally(s.Plan.Ranges.Len(), len(s.Plan.Columns)), nil
	case o.Exact:
		c.places = wholeInput(s.Input)
	default:
		c.places = choosePlaces(s.Input, o.count, s.unpacked(), float64(s.ValueBytes)/float64(s.Rows))
	}
	if o.Suggest > 0 {
		c.step = max(1, c.expectRows(s)/partition.SampleKeys)
	}
	t, err := c.run(ctx)
	if err != nil || o.Suggest == 0 || t.rows == 0 {
		return s.finishCount(c, t, err)
	}
	least := 0
	if n := s.Plan.Salts(); n > 1 {
		least = len(strconv.Itoa(n - 1))
	}
	ranges, err := partition.New(t.keys.Splits(o.Suggest, least))
	if err != nil {
		return nil, err
	}
	plan := *s.Plan
	plan.Ranges = ranges
	s.Plan = &plan
	again := &counting{plan: s.Plan, plans: s.plans, table: s.table, in: s.Input, options: c.options, query: c.query, places: c.places}
	t, err = again.run(ctx)
	return s.finishCount(again, t, err)
}

// finishCount records how much was counted. If the whole input was, it evaluates the budget of bad records.
func (s *scaled) finishCount(c *counting, t *tally, err error) (*tally, error) {
	if err != nil {
		return nil, err
	}
	t.places, t.bad = len(c.places), s.Options.Budget.Bad()
	t.whole = len(c.places) == len(s.Input.Splits()) && !slices.ContainsFunc(c.places, func(p countPlace) bool { return p.stands > 0 })
	t.cutPacked = slices.ContainsFunc(c.places, func(p countPlace) bool {
		return p.stands > 0 && s.Input.Files()[s.Input.Splits()[p.split].File].Compression != ""
	})
	if t.whole {
		if err := s.Options.Budget.Finish(s.Input.Records()); err != nil {
			return nil, s.Options.ReadError(err)
		}
		o := build.Options{Missing: s.Options.Missing} // missing columns are reported by a warning
		if err := o.AllColumns(s.Input.Lacking(), t.seen-t.bad); err != nil {
			return nil, err
		}
	}
	t.lacking = s.Input.Lacking()
	return t, nil
}

// expectRows returns the approximate number of rows in the places.
func (c *counting) expectRows(s *scaled) int64 {
	rows, perByte := 0.0, float64(s.Rows)/float64(max(s.ValueBytes, 1))
	files, splits := s.Input.Files(), s.Input.Splits()
	for _, p := range c.places {
		split := splits[p.split]
		size := float64(min(p.limit, split.End-split.Start))
		if files[split.File].Compression != "" {
			size = min(float64(p.limit), float64(files[split.File].Size)*s.unpacked())
		}
		if !files[split.File].Format.Traits().Rows {
			size *= perByte
		}
		rows += size
	}
	return int64(rows)
}

// unpacked returns the compression ratio of text: uncompressed bytes per compressed byte.
func (s *scaled) unpacked() float64 {
	packed, _ := ratios(s.Input, s.Extent)
	return packed
}

// count sets the number of rows from the count of keys, which has read more of
// the input than the sample.
func (s *scaled) count(t *tally) {
	s.TotalRows = int64(math.Round(t.rows))
	s.Foresee()
}

func (e *Estimate) store(plan *cells.Plan, t *tally) {
	e.Exact, e.CountedRows, e.CountPlaces, e.BadRecords = t.whole, t.seen, t.places, t.bad
	e.Rows = int64(math.Round(t.rows))
	if t.rows > 0 {
		e.KeyLength = Lengths{Min: t.minKey, Max: t.maxKey, Mean: t.keyBytes / t.rows}
	}
	e.Splits = append([]rowkey.Key{}, rowkey.Keys(plan.Ranges.Splits())...)
	for i, r := range t.regions {
		e.Regions = append(e.Regions, RegionEstimate{Start: plan.Ranges.Start(i), End: plan.Ranges.End(i),
			Rows: int64(math.Round(r.rows)), Share: r.rows / max(t.rows, 1), seen: r.seen})
	}
	for _, k := range t.hot.top(heavyKeys) {
		key := HeavyKey{Rows: int64(math.Round(k.rows)), Share: k.rows / max(t.rows, 1)}
		for v := range strings.SplitSeq(k.text, string([]byte{querySep})) {
			key.Values = append(key.Values, strings.ToValidUTF8(v, "\uFFFD"))
		}
		e.HeavyKeys = append(e.HeavyKeys, key)
	}
}

func indexes(all, names []string) []int {
	at := make([]int, 0, len(names))
	for _, name := range names {
		at = append(at, slices.Index(all, name))
	}
	return at
}

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
