package compare

import (
	"context"
	"errors"
	"io/fs"

	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/tablesource"
	"bulkload/pkg/keygen"
	"bulkload/pkg/setting"
)

// Modulus returns the salt modulus of both sides: that of the job, or the one for which the tables, or the tables of
// the snapshots, are split.
func (r Request) Modulus(ctx context.Context, js spec.Job) (n int, err error) {
	if js.Regions > 0 || !keygen.NeedsRegions(js.RowKey()) {
		return js.SaltModulus(nil)
	}
	for _, s := range []Side{r.A, r.B} {
		if s.Dir != "" || s.Export != nil {
			continue
		}
		points, err := pointsOf(ctx, s)
		if err != nil {
			return 0, err
		}
		m, err := js.SaltModulus(points)
		if err != nil {
			return 0, err
		}
		if n > 0 && m != n {
			return 0, fail.With(fail.Check, setting.Errorf("A is split for %s and B for %s: say by how many the keys of both were made with %s", setting.Count(n, "salt"), setting.Count(m, "salt"), setting.SaltBuckets))
		}
		n = m
	}
	if n == 0 {
		return 0, fail.With(fail.Config, setting.Errorf("neither side has split points that show how many salts its keys have: say it with %s", setting.SaltBuckets))
	}
	return n, nil
}

// pointsOf returns the split points of a table, or of the table of a snapshot.
func pointsOf(ctx context.Context, s Side) (points [][]byte, err error) {
	if s.Snapshot != "" {
		src, err := tablesource.Open(ctx, s.Env, tablesource.Ref{Snapshot: s.Snapshot}, tablesource.Options{})
		if err != nil {
			return nil, err
		}
		return src.Splits(), src.Close(ctx)
	}
	c, err := s.Env.Dial(ctx)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	regions, err := c.Regions(ctx, s.Table)
	if err != nil {
		return nil, cluster.Failure(err)
	}
	for _, r := range regions[1:] {
		points = append(points, r.Start)
	}
	return points, nil
}

// salted returns the job of an export with the modulus of its salts: that of the other side's files, or for which its table is split.
func salted(ctx context.Context, js spec.Job, other *opened) (spec.Job, error) {
	if js.Regions > 0 || !keygen.NeedsRegions(js.RowKey()) {
		return js, nil
	}
	if other.Dir == "" {
		n, err := js.SaltModulus(other.starts())
		js.Regions = n
		return js, err
	}
	fsys, dir, err := other.Env.Resolve(other.Dir)
	if err != nil {
		return js, err
	}
	m, err := manifest.ReadUnchecked(ctx, fsys, dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return js, fail.With(fail.Input, err)
	}
	if m == nil || m.Key != js.RowKey().String() {
		return js, fail.With(fail.Config, setting.Errorf("%s does not show how many salts its keys have: say it with %s", other.name(), setting.SaltBuckets))
	}
	js.Regions = m.Modulus
	return js, nil
}
