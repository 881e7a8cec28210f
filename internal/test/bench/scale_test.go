package bench

import (
	"context"
	"fmt"

	"bulkload/internal/test/bench/data"
)

// memoryCase compares little memory, with spills, with so much memory that nothing spills.
func (l *Lab) memoryCase(ctx context.Context) (Case, error) {
	spec := data.Spec{Table: data.Check, Rows: 5 * l.Rows, Seed: l.Seed, Regions: 10}
	return l.caseOf(ctx, Case{Name: CaseMemory, Rounds: l.Rounds, Reference: "4GiB",
		Title: fmt.Sprintf("bulkload build of %s check rows into 10 regions with --memory 64MiB, against unspilled", grouped(spec.Rows))},
		buildRun{name: "4GiB", spec: spec, memory: "4GiB"}, buildRun{name: "64MiB", spec: spec, memory: "64MiB"})
}

// skewCase compares half of the rows in one region, and with one key, with the even case.
func (l *Lab) skewCase(ctx context.Context) (Case, error) {
	even := data.Spec{Table: data.Check, Rows: l.Rows, Seed: l.Seed, Regions: 10}
	region, key := even, even
	region.RegionShare, key.KeyShare = 0.5, 0.5
	return l.caseOf(ctx, Case{Name: CaseSkew, Rounds: l.Rounds, Reference: "even",
		Title: fmt.Sprintf("bulkload build of %s check rows into 10 regions, half of them in one", grouped(l.Rows))},
		buildRun{name: "even", spec: even}, buildRun{name: "half in one region", spec: region}, buildRun{name: "half in one key", spec: key})
}

// scaleCase builds fifty times the rows in the same memory.
func (l *Lab) scaleCase(ctx context.Context) (Case, error) {
	small := data.Spec{Table: data.Check, Rows: l.Rows, Seed: l.Seed, Regions: 50}
	large := small
	large.Rows *= 50
	return l.longCase(ctx, CaseScale, "check rows into 50 regions", small, large)
}

// opinionCase builds twenty times the rows of opinion, a tenth of them in one of 50 regions.
func (l *Lab) opinionCase(ctx context.Context) (Case, error) {
	small := data.Spec{Table: data.Opinion, Rows: l.Rows, Seed: l.Seed, Regions: 50}
	large := small
	large.Rows *= 20
	large.RegionShare = 0.1
	return l.longCase(ctx, CaseOpinion, "opinion rows into 50 regions, 10 % of them in one", small, large)
}

func (l *Lab) longCase(ctx context.Context, name, what string, small, large data.Spec) (Case, error) {
	return l.caseOf(ctx, Case{Name: name, Rounds: l.LongRounds, Reference: grouped(small.Rows) + " rows", PerRow: true,
		Title: fmt.Sprintf("bulkload build of %s %s with --memory %s, time a row against %s rows", grouped(large.Rows), what, l.Memory, grouped(small.Rows))},
		buildRun{name: grouped(small.Rows) + " rows", spec: small}, buildRun{name: grouped(large.Rows) + " rows", spec: large, cold: true})
}
