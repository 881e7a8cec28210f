package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"bulkload/internal/model/result"
	"bulkload/internal/test/bench/data"
)

const (
	nightlyRows  = 3000
	nightlyTable = "bulkload_bench_nightly"
	// nightlyWarm is the number of rounds until the servers' code is compiled: the first ones take twice as long.
	nightlyWarm = 15
	// nightlyTouch is more memory than a nightly load takes.
	nightlyTouch = 512 << 20
)

// nightlyCase measures a small load into a table with earlier nights, which the rounds that warm up load. The details show the waiting
// times; the rest of the wall time is before the first record is read and after the last one is verified.
func (l *Lab) nightlyCase(ctx context.Context) (Case, error) {
	spec := data.Spec{Table: data.Check, Rows: nightlyRows, Seed: l.Seed, Regions: 10}
	cluster, err := l.running(ctx)
	if err != nil {
		return Case{}, err
	}
	program, err := l.program(ctx)
	if err != nil {
		return Case{}, err
	}
	input, err := l.file(ctx, spec, data.Dump)
	if err != nil {
		return Case{}, err
	}
	state := l.path("nightly-state")
	argv := []string{program, "run", "--quiet", "--output=json", "--job=" + l.jobFile(spec.Table), "--table=" + nightlyTable,
		"--input=" + input, "--format=dump", "--verify=sample", "--state=" + state, "--memory=" + l.Memory, "--spill-dir=" + l.Dir}
	night := func(ctx context.Context, round int) (Sample, error) {
		if round == 0 {
			if err := freshTable(ctx, cluster, nightlyTable, spec.Regions); err != nil {
				return Sample{}, err
			}
		}
		if err := os.RemoveAll(state); err != nil { // each night is a new job
			return Sample{}, err
		}
		stdout, usage, err := command{argv: argv, dir: l.Root, env: clusterEnv(cluster)}.run(ctx)
		if err != nil {
			return Sample{}, err
		}
		r := &result.Result{}
		if err := json.Unmarshal(stdout, r); err != nil || r.Manifest == nil {
			return Sample{}, fmt.Errorf("output of bulkload run: %w", errors.Join(err, errors.New("the manifest is missing")))
		}
		detail := map[string]float64{"read s": r.Manifest.ReadTime.Seconds(), "write s": r.Manifest.WriteTime.Seconds(),
			"load s": r.LoadTime.Seconds(), "verify s": r.VerifyTime.Seconds()}
		rest := usage.Wall.Seconds()
		for _, took := range detail {
			rest -= took
		}
		detail["rest s"] = rest
		return Sample{Usage: usage, Detail: detail}, os.RemoveAll(state)
	}
	return Case{Name: CaseNightly, Rounds: l.Rounds, WarmRounds: nightlyWarm, Touch: nightlyTouch,
		Title: fmt.Sprintf("bulkload run of %s check rows into 10 regions of a table that was loaded before, a sample verified", grouped(nightlyRows)),
		Tools: []Tool{{Name: "bulkload", Rows: spec.Rows, Warm: warmFiles(input), Run: night}}}, nil
}
