package extsort

import (
	"cmp"
	"errors"
	"slices"

	"bulkload/pkg/setting"
)

// maxFanIn returns the number of runs that the budget lets each worker merge at a time.
func (s *Sorter) maxFanIn() int {
	largest := runBlock
	for _, r := range s.runs {
		largest = max(largest, r.maxBlock)
	}
	return s.options.fanIn(largest)
}

// fanIn returns the number of cursors that fit into a worker's share.
func (o Options) fanIn(block int) int {
	return int(o.Memory / int64(o.Workers) / cursorMemory(block))
}

// cursorMemory returns the memory of a cursor, which has a stored block and two raw ones.
func cursorMemory(block int) int64 { return int64(3*block + block/4) }

// reduceRuns merges runs into longer ones until at most maxFanIn are left.
func (s *Sorter) reduceRuns() error {
	for {
		limit := s.maxFanIn()
		if len(s.runs) <= limit {
			return s.holdMore()
		}
		if limit < 2 {
			return setting.Errorf("%w: %s cannot merge two runs with rows this long (give more with %s)", ErrMemory, setting.Count(s.options.Memory, "byte"), setting.Memory)
		}
		n := min(limit*s.options.Workers, len(s.runs)-limit+1)
		n = max(n, 2)
		if err := s.mergeRuns(n); err != nil {
			return err
		}
	}
}

// mergeRuns merges the n smallest runs into one.
func (s *Sorter) mergeRuns(n int) error {
	slices.SortFunc(s.runs, func(a, b *run) int { return cmp.Compare(a.size, b.size) })
	old := slices.Clone(s.runs[:n])
	need := s.disk.with(old)
	out, err := s.newRunWriter()
	if err != nil {
		return err
	}
	rows, finds := int64(0), make([]lookup, n)
	for region := range s.options.Regions {
		m, err := s.merge(region, old, finds, s.options.Duplicates, true)
		if err != nil {
			return errors.Join(err, out.run.remove())
		}
		for m.Next() {
			if err := out.add(region, m.current.record, m.current.shared); err != nil {
				return errors.Join(withNeed(err, need), out.run.remove())
			}
			rows++
		}
		m.Close()
		if m.Err() != nil {
			return errors.Join(m.Err(), out.run.remove())
		}
	}
	if err := s.addRun(out, rows); err != nil {
		return withNeed(err, need)
	}
	s.runs = slices.Delete(s.runs, 0, n)
	for _, r := range old {
		s.disk.give(r.size)
		s.held -= int64(len(r.sections.held))
		err = errors.Join(err, r.remove())
	}
	return err
}
