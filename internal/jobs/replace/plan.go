package replace

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"bulkload/internal/hbase/cluster"
	"bulkload/internal/hbase/snapshot"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/pipeline/cells"
	"bulkload/internal/pipeline/tablesource"
	"bulkload/pkg/loader"

	"github.com/cespare/xxhash/v2"
)

// Prediction is the predicted effect of a replacing run on its table.
type Prediction struct {
	Rows    int64  `json:"rows"`        // of the table, with visible cells
	Deleted int64  `json:"deleted"`     // rows that are not in the export
	OneOf   int64  `json:"one_of"`      // 1: all keys were compared; n: one in n keys was, and Deleted is an estimate
	Seen    int64  `json:"seen"`        // deleted rows among the compared ones
	Limit   string `json:"max_deletes"` // maximum of deleted rows: a number, or a percentage of the rows
	Refused bool   `json:"refused"`     // a run would refuse to delete that many
}

// Predict computes the keys of all of a job's input, and looks up the row keys of a
// snapshot of its table among them. The snapshot is taken for this and deleted
// again. Nothing else is changed, and nothing is sorted or written. Memory is
// bounded by w; keys that do not fit are sampled, and the prediction reports that.
func Predict(ctx context.Context, env *cluster.Env, s spec.Job, w build.WorkOptions) (_ *Prediction, err error) {
	facts, err := cluster.SpecFacts(ctx, env, s)
	if err != nil {
		return nil, err
	}
	families, err := s.ApplyToAll(facts.Families)
	if err != nil {
		return nil, err
	}
	in, err := build.OpenInput(ctx, env.Source, s, build.WorkOptions{Workers: w.Workers, Memory: w.Memory, Events: w.Events}) // rejects are not written
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	plan, err := cells.NewPlan(s, in.Source.Columns(), families[0], facts.Splits, time.Now().UnixMilli(), families[1:]...)
	if err != nil {
		return nil, err
	}
	o := build.Options{Workers: w.Workers, Memory: w.Memory, Budget: in.Budget, Events: w.Events}.WithDefaults()
	w.Events.Phase("compare keys")
	keys := newKeySet(int64(o.Memory) / 2)
	if err := keys.read(ctx, plan, in, o); err != nil {
		return nil, err
	}
	src, err := tablesource.Open(ctx, env, tablesource.Ref{Table: facts.Name}, tablesource.Options{FilesOnly: true})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, src.Close(ctx)) }()
	p, err := keys.compare(ctx, src.Snapshot)
	if err != nil {
		return nil, tablesource.FilesFailure(err)
	}
	limit := s.MaxDeletes()
	p.Limit, p.Refused = limit.String(), !limit.Allows(p.Deleted, p.Rows)
	return p, nil
}

// keyBatch is the number of keys that a worker collects before it adds them to the
// set.
const keyBatch = 1024

// read adds the keys of all of the input.
func (s *keySet) read(ctx context.Context, plan *cells.Plan, in *build.Input, o build.Options) error {
	var mu sync.Mutex
	var rest []*[]uint64 // last batches of the workers
	err := build.RowKeys(ctx, plan, in.Source, o, func() func(key []byte) error {
		batch := make([]uint64, 0, keyBatch)
		mu.Lock()
		rest = append(rest, &batch)
		mu.Unlock()
		return func(key []byte) error {
			if batch = append(batch, hashOf(key)); len(batch) == keyBatch {
				s.add(batch)
				batch = batch[:0]
			}
			return nil
		}
	})
	for _, batch := range rest {
		s.add(*batch)
	}
	return err
}

// compare counts the rows of a snapshot, and those that the set lacks.
func (s *keySet) compare(ctx context.Context, snap *snapshot.Snapshot) (*Prediction, error) {
	p := &Prediction{OneOf: s.of()}
	var mu sync.Mutex
	err := snap.Each(ctx, readers, snapshot.View{Versions: 1, Now: snap.Created}, func(ctx context.Context, _ int, sc *snapshot.Scan) error {
		var rows, seen int64
		for sc.Next() {
			if !sc.NewRow() {
				continue
			}
			rows++
			if h := hashOf(sc.Cell().Row); s.sampled(h) && !s.has(h) {
				seen++
			}
		}
		mu.Lock()
		p.Rows, p.Seen = p.Rows+rows, p.Seen+seen
		mu.Unlock()
		return sc.Err()
	})
	p.Deleted = min(p.Seen*p.OneOf, p.Rows)
	return p, err
}

// A Plan is the part of a job's plan that describes the replacement.
type Plan struct {
	Known      string `json:"known"`       // when the number of deleted rows is known
	MaxDeletes string `json:"max_deletes"` // the limit of deleted rows
	Of         string `json:"table,omitempty"`
	Into       string `json:"into,omitempty"`        // table that is created to replace that one
	Exists     bool   `json:"into_exists,omitempty"` // the table exists already

	*Prediction // nil: no table was read
}

// PlanFor predicts which rows a replacing job deletes, if it may ask the cluster of env. into is the table that replaces that of the job, if any. It
// returns nil for a job that replaces nothing.
func PlanFor(ctx context.Context, env *cluster.Env, s spec.Job, into string, w build.WorkOptions, asks bool) (*Plan, error) {
	if !s.Replace {
		return nil, nil
	}
	r := &Plan{Known: "before the load", MaxDeletes: s.MaxDeletes().String(), Of: s.Table, Into: into}
	if into != "" && s.MaxDeletes().All() {
		r.Known = "never"
	}
	if !asks {
		return r, nil
	}
	var err error
	if into != "" {
		if r.Exists, err = exists(ctx, env, into); err != nil || r.Known == "never" {
			return r, err
		}
	}
	if r.Prediction, err = Predict(ctx, env, s, w); err != nil {
		return nil, fmt.Errorf("predict the rows that would be deleted: %w", err)
	}
	r.Known = "now"
	if r.OneOf > 1 {
		r.Known = "now, as an estimate"
	}
	return r, nil
}

func exists(ctx context.Context, env *cluster.Env, name string) (bool, error) {
	t, err := loader.ParseTableName(name)
	if err != nil {
		return false, fail.With(fail.Config, err)
	}
	c, err := env.Dial(ctx)
	if err != nil {
		return false, err
	}
	defer c.Close()
	_, err = c.Describe(ctx, t)
	if errors.Is(err, loader.ErrTableNotFound) {
		return false, nil
	}
	return err == nil, cluster.Failure(err)
}

// keyBytes is the approximate memory of a key in a set that has just grown.
const keyBytes = 48

// keySet is a set of the keys of an export, stored as 64-bit hashes. Keys with the
// same hash are equal in the set: with a billion rows and a billion others, about
// one set in twenty has such a pair. If the keys do not fit, the set samples them:
// it keeps only hashes whose lowest bits are 0, which selects the same fraction of
// the keys on both sides.
type keySet struct {
	mu   sync.Mutex
	most int
	bits uint // number of lowest bits that must be 0
	keys map[uint64]struct{}
}

// newKeySet returns a set for as many keys as fit in the given memory.
func newKeySet(memory int64) *keySet {
	return &keySet{most: int(max(memory/keyBytes, 1)), keys: map[uint64]struct{}{}}
}

func hashOf(key []byte) uint64 { return xxhash.Sum64(key) }

// sampled reports whether the set includes keys with this hash.
func (s *keySet) sampled(hash uint64) bool { return hash&(1<<s.bits-1) == 0 }

// of returns the number of keys that one key of the set represents.
func (s *keySet) of() int64 { return 1 << s.bits }

// add adds hashes.
func (s *keySet) add(hashes []uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range hashes {
		if s.sampled(h) {
			s.keys[h] = struct{}{}
		}
		for len(s.keys) > s.most {
			s.halve()
		}
	}
}

// halve drops about half of the keys, into a map of the new size.
func (s *keySet) halve() {
	s.bits++
	kept := make(map[uint64]struct{}, len(s.keys)/2)
	for h := range s.keys {
		if s.sampled(h) {
			kept[h] = struct{}{}
		}
	}
	s.keys = kept
}

// has reports whether a sampled key is in the set.
func (s *keySet) has(hash uint64) bool {
	_, ok := s.keys[hash]
	return ok
}
