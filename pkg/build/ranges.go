package build

import (
	"context"

	"bulkload/pkg/fail"
	"bulkload/pkg/hfile"
	"bulkload/pkg/manifest"
	"bulkload/pkg/partition/extsort"

	"github.com/cespare/xxhash/v2"
)

// rangeBytes is about how much of a region's rows one goroutine merges at a time.
const rangeBytes = 512 << 10

// rangedRows are [sortedRows] of which ranges of a region can be merged by themselves.
type rangedRows interface {
	// Ranges are those of a region, of about that many rows each; nil if it has none.
	Ranges(region, rows int) []extsort.Range
	// MergeRange merges one; what it shows stays valid while the rows are written.
	MergeRange(region int, r extsort.Range) (*extsort.Merge, error)
}

// rangeWriter writes a region range by range. Workers that have no region merge ranges ahead of it: it takes what they have merged
// in the order of keys, so the files are the same however many they are.
type rangeWriter struct {
	w      *writers
	region int // in the sort
	sort   rangedRows
	part   *regionPart
	sinks  []*cellSink
	ahead  []*mergedRange // under way, in order
	spare  []*mergedRange
	dups   int64 // rows that were left out
}

// ranges cuts a region, if its rows can be encoded by several workers; nil means that one merges it as a whole.
func (w *writers) ranges(r region) (rangedRows, []extsort.Range) {
	sort, ok := w.sort.(rangedRows)
	if !ok || w.helpers == nil || r.rows == 0 || !w.plan.Helped() {
		return nil, nil
	}
	return sort, sort.Ranges(w.from+r.i, int(max(rangeBytes/(r.size/r.rows+1), 64)))
}

// run writes all ranges.
func (r *rangeWriter) run(ctx context.Context, ranges []extsort.Range) error {
	rows := int64(0)
	for _, one := range ranges {
		rows += int64(one.Rows())
	}
	for next := 0; next < len(ranges) || len(r.ahead) > 0; {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		for next < len(ranges) && len(r.ahead) <= 2*r.w.helpers.Count() {
			m := r.begin(ranges[next])
			if !r.w.helpers.Do(m.merge) {
				r.spare = append(r.spare, m)
				break
			}
			r.ahead = append(r.ahead, m)
			next++
		}
		if len(r.ahead) == 0 {
			if err := r.own(ctx, ranges[next]); err != nil {
				return err
			}
			next++
			continue
		}
		m := r.ahead[0]
		r.w.helpers.Wait(m.done)
		r.ahead = append(r.ahead[:0], r.ahead[1:]...)
		if err := r.take(m); err != nil {
			return err
		}
	}
	if got := r.part.taken + r.dups; got != rows {
		return fail.Errorf(fail.Unexpected, "region %d: %d rows were merged of %d; nothing was loaded (this is a fault of bulkload or of this machine: report it)", r.region, got, rows)
	}
	return nil
}

// own merges a range in this goroutine, and encodes its rows as they come while nobody helps.
func (r *rangeWriter) own(ctx context.Context, of extsort.Range) error {
	if r.w.helpers.Count() > 0 {
		m := r.begin(of)
		m.merge()
		<-m.done
		return r.take(m)
	}
	m, err := r.sort.MergeRange(r.region, of)
	if err != nil {
		return err
	}
	defer m.Close()
	err = r.part.encode(ctx, m, r.w.plan, r.sinks)
	r.dups += m.Duplicates()
	return err
}

// take appends what was merged.
func (r *rangeWriter) take(m *mergedRange) error {
	if m.err != nil {
		return m.err
	}
	r.dups += m.dups
	r.part.digest.Add(m.digest)
	r.part.noCells += m.noCells
	r.part.sampler.addAll(m.keys, m.sums)
	for i, s := range r.sinks {
		s.rows += int64(m.rows[i].Len())
		if err := s.row.AppendRows(m.rows[i]); err != nil {
			return sinkError(err)
		}
		m.rows[i] = nil
	}
	r.part.add(m.records)
	r.spare = append(r.spare, m)
	return nil
}

// begin makes a range ready to be merged.
func (r *rangeWriter) begin(of extsort.Range) *mergedRange {
	var m *mergedRange
	if n := len(r.spare); n > 0 {
		m, r.spare = r.spare[n-1], r.spare[:n-1]
	} else {
		m = &mergedRange{sort: r.sort, region: r.region, sinks: r.sinks, sampled: r.part.most > 0, done: make(chan struct{}, 1),
			lengths: make([]int32, r.w.plan.values()), rows: make([]*hfile.Rows, len(r.sinks))}
	}
	m.of = of
	return m
}

// mergedRange is the rows of a range. It belongs to one goroutine at a time.
type mergedRange struct {
	sort    rangedRows
	region  int
	of      extsort.Range
	sinks   []*cellSink
	sampled bool // keys and sums are asked for
	done    chan struct{}

	lengths []int32
	rows    []*hfile.Rows // of each family
	keys    [][]byte
	sums    []uint64
	digest  manifest.Digest
	records int64 // duplicates left out
	noCells int64
	dups    int64
	err     error
}

// merge merges the rows, in any goroutine.
func (m *mergedRange) merge() {
	m.keys, m.sums, m.digest, m.records, m.noCells, m.dups = m.keys[:0], m.sums[:0], manifest.Digest{}, 0, 0, 0
	for i, s := range m.sinks {
		if m.rows[i] == nil {
			m.rows[i] = s.row.NewRows()
		}
	}
	m.err = m.addRows()
	m.done <- struct{}{}
}

func (m *mergedRange) addRows() error {
	merge, err := m.sort.MergeRange(m.region, m.of)
	if err != nil {
		return err
	}
	defer merge.Close()
	for merge.Next() {
		m.records++
		values, cells, err := extsort.Lengths(merge.Payload(), m.lengths)
		if err != nil {
			return err
		}
		if cells == 0 {
			m.noCells++
			continue
		}
		key, sum := merge.Key(), xxhash.Sum64(merge.Row())
		m.digest.AddSum(sum, cells)
		if m.sampled {
			m.keys, m.sums = append(m.keys, key), append(m.sums, sum)
		}
		for i, s := range m.sinks {
			size, has := 0, false
			lengths := m.lengths[s.family.from:s.family.to]
			for _, l := range lengths {
				if l >= 0 {
					size += int(l)
					has = true
				}
			}
			if has {
				m.rows[i].Add(key, lengths, values[:size])
			}
			values = values[size:]
		}
	}
	m.dups = merge.Duplicates()
	return merge.Err()
}
