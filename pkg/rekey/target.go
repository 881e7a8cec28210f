package rekey

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"

	"bulkload/pkg/checkpoint"
	"bulkload/pkg/cluster"
	"bulkload/pkg/fail"
	"bulkload/pkg/loader"
	"bulkload/pkg/rowkey"
	"bulkload/pkg/setting"
	"bulkload/pkg/table"
)

// target finds the new table, or makes it like the old one was when the snapshot
// was taken.
func (j *run) target(ctx context.Context) (*cluster.Facts, error) {
	old, err := loader.DescribedBy(j.req.From, j.source.Schema)
	if err != nil {
		return nil, fail.With(fail.Input, err)
	}
	var families []string
	for _, f := range j.source.Families {
		families = append(families, f.Name)
	}
	if _, err := table.Settle(ctx, j.c, j.req.To); err != nil { // whoever asks for its facts refuses one that is not enabled
		return nil, cluster.Failure(err)
	}
	facts, err := cluster.TableFacts(ctx, j.env, j.c, j.req.To.String(), families...)
	if errors.Is(err, loader.ErrTableNotFound) {
		if err := j.create(ctx, old); err != nil {
			return nil, err
		}
		facts, err = cluster.TableFacts(ctx, j.env, j.c, j.req.To.String(), families...)
	}
	if err != nil {
		return nil, err
	}
	splits := j.req.Splits
	if j.st.Rekey.Makes {
		splits = nil // regions of a table that an earlier attempt has made, and that is empty, may have been merged since
	}
	if err := fits(facts, old, splits, j.req.Since > 0); err != nil {
		return nil, err
	}
	return facts, j.vacant(ctx)
}

// create makes the table, pre-split.
func (j *run) create(ctx context.Context, old *loader.Table) error {
	splits := j.req.Splits
	if splits == nil {
		var err error
		if splits, err = Splits(ctx, j.source, j.req.key, j.req.oldKey, j.now(), j.options()); err != nil {
			return err
		}
	}
	now := *j.st.Rekey
	now.Makes = true
	if err := j.st.Record(checkpoint.EventRekey, now); err != nil {
		return err
	}
	spec := table.Like(old).Spec(j.req.To, splits)
	j.o.Events.Note("table is created", "table", j.req.To.String(), "like", j.req.From.String(), "regions", len(splits)+1)
	if err := j.c.CreateTable(ctx, spec); err != nil && !errors.Is(err, loader.ErrTableExists) {
		return cluster.Failure(err)
	}
	return nil
}

// fits says whether a table can have the old one's cells as they are: one that
// keeps fewer versions, or for a shorter time, would lose some. One that keeps
// more shows in a further pass what the old one has dropped since the first.
func fits(facts *cluster.Facts, old *loader.Table, splits [][]byte, further bool) error {
	var wrong []string
	for _, f := range old.Families {
		now, ok := facts.Table.Family(f.Name)
		switch {
		case !ok:
			wrong = append(wrong, "it has no family "+f.Name)
		case now.Versions < f.Versions:
			wrong = append(wrong, "family "+f.Name+" keeps fewer versions")
		case further && now.Versions > f.Versions:
			wrong = append(wrong, "family "+f.Name+" keeps more versions")
		case now.TTL < f.TTL:
			wrong = append(wrong, "family "+f.Name+" has a shorter TTL")
		}
	}
	for _, split := range splits {
		if !slices.ContainsFunc(facts.Splits, func(s []byte) bool { return bytes.Equal(s, split) }) {
			wrong = append(wrong, "it has no region that begins at "+rowkey.String(split))
			break
		}
	}
	if len(wrong) > 0 {
		return fail.Errorf(fail.Check, "table %s is there already, and cannot have what table %s has: %s (alter it, or name a table that does not exist, which is made with %s or by the keys)",
			facts.Name, old.Name, strings.Join(wrong, "; "), setting.Splits)
	}
	return nil
}

// vacant refuses a table with rows, which the old ones would mix with. A further
// pass adds to those of the first.
func (j *run) vacant(ctx context.Context) error {
	if j.req.Since > 0 {
		return nil
	}
	vacant, err := table.Vacant(ctx, j.c, j.req.To)
	if err != nil {
		return cluster.Failure(err)
	}
	if !vacant {
		return fail.Errorf(fail.Check, "table %s has rows, or delete markers: rows with new keys go into an empty table (name another one; a further pass, for what was written since the first, has %s)", j.req.To, setting.Since)
	}
	return nil
}
