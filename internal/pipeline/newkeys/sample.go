package newkeys

import (
	"context"
	"sync"
	"time"

	"bulkload/internal/hbase/snapshot"
	"bulkload/internal/model/choice"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/keyrange"
	"bulkload/internal/model/progress"
	"bulkload/internal/pipeline/tablesource"
	"bulkload/pkg/keygen"
	"bulkload/pkg/partition"
)

// Splits returns split points of a table for the snapshot's rows under their new keys; old is the spec of the old
// keys or nil. For a key that begins with a salt, each value of the salt gets a region, up to [partition.MaxRegions]. For
// any other key, Splits reads all rows of the given ranges, in the families that the key requires, and returns as many regions as the
// snapshot has, with about the same bytes each.
func Splits(ctx context.Context, s *snapshot.Snapshot, key, old keygen.Expr, now time.Time, in []keyrange.Range, o Options) ([][]byte, error) {
	o.Options = o.WithDefaults()
	keys, err := newKeyColumns(key, old, s.Families)
	if err != nil {
		return nil, err
	}
	if splits, ok := SaltSplits(key); ok {
		return splits, nil
	}
	if len(s.Regions) == 1 {
		return nil, nil
	}
	o.Events.Note("rows are read for split points", "snapshot", s.Name, "key", key.String())
	n := min(o.Workers, len(s.Regions))
	most := int(int64(o.Memory) / int64(n) / 8)
	all := &sharedSample{keys: partition.NewKeySample(1, sampleSeed)}
	view := snapshot.View{Now: now, Families: keys.read(), Versions: 1, Choice: choice.Choice{Ranges: in}}
	err = s.Each(ctx, n, view, func(ctx context.Context, _ int, sc *snapshot.Scan) error {
		if err := progress.Pass(ctx, o.Gate); err != nil {
			return err
		}
		m, err := newKeyMaker(keys, most)
		if err != nil {
			return err
		}
		return tablesource.InputFailure((&sampler{of: m, snap: s, into: all}).read(sc))
	})
	if err != nil {
		return nil, tablesource.InputFailure(err)
	}
	return all.keys.Splits(len(s.Regions), 0), nil
}

// SaltSplits returns the split points of a key that begins with a salt, unless the salt has more values than a table has regions.
func SaltSplits(key keygen.Expr) ([][]byte, bool) {
	call, ok := keygen.Parts(key)[0].(keygen.Call)
	if !ok || len(call.Ints) == 0 {
		return nil, false
	}
	return partition.SplitsOfSalt(call.Func, call.Ints[0])
}

// sampleSeed makes samples of the same rows in the same order reproducible.
const sampleSeed = 1

// sharedSample is the sample of all workers, so that only one is in memory.
type sharedSample struct {
	mu   sync.Mutex
	keys *partition.KeySample
}

func (s *sharedSample) add(key []byte, size int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keys.Add(key, size)
}

// sampler makes the keys of one region's rows. It ignores rows without a key; the build handles them.
type sampler struct {
	of   *keyMaker
	snap *snapshot.Snapshot
	into *sharedSample

	row  []byte
	size int64
	any  bool
}

func (s *sampler) read(sc *snapshot.Scan) error {
	family := 0
	for sc.Next() {
		c := sc.Cell()
		if sc.NewRow() {
			s.end()
			s.row, s.any, s.size, family = append(s.row[:0], c.Row...), true, 0, 0
			s.of.begin()
		}
		for string(c.Family) != s.snap.Families[family].Name {
			if family++; family == len(s.snap.Families) {
				return fail.Errorf(fail.Input, "%w: a cell of family %q, which the table lacks", snapshot.ErrDamaged, c.Family)
			}
		}
		if err := s.of.cell(family, c.Qualifier, c.Value); err != nil {
			return err
		}
		s.size += int64(len(c.Qualifier) + len(c.Value))
	}
	s.end()
	return nil
}

func (s *sampler) end() {
	if !s.any {
		return
	}
	if key, err := s.of.make(s.row); err == nil {
		s.into.add(key, s.size+int64(len(key)))
	}
}
