package bench

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"bulkload/internal/model/manifest"
	"bulkload/internal/test/bench/data"
)

// buildRun is one call of bulkload build.
type buildRun struct {
	name   string
	spec   data.Spec
	form   data.Form // default a dump
	memory string    // default Config.Memory
	cold   bool
	// regions of the table, default those of spec. The keys of one region have guardSalts salts.
	regions int
	// program that builds, default that of the checkout, and its examples, default those of the checkout.
	program, examples string
}

// buildTool generates the data now, and builds HFiles from it when the tool runs.
func (l *Lab) buildTool(ctx context.Context, b buildRun) (Tool, error) {
	b.form = cmp.Or(b.form, data.Dump)
	b.memory = cmp.Or(b.memory, l.Memory)
	b.regions = cmp.Or(b.regions, b.spec.Regions)
	if b.program == "" {
		program, err := l.program(ctx)
		if err != nil {
			return Tool{}, err
		}
		b.program, b.examples = program, filepath.Join(l.Root, "examples")
	}
	input, err := l.file(ctx, b.spec, b.form)
	if err != nil {
		return Tool{}, err
	}
	info, err := os.Stat(input)
	if err != nil {
		return Tool{}, err
	}
	out, spill := l.path("out"), l.path("spill")
	argv := []string{b.program, "build", "--quiet", "--output=json", "--job=" + filepath.Join(b.examples, string(b.spec.Table)+".yaml"),
		"--input=" + input, "--format=" + string(b.form), "--out=" + out, "--splits=" + splits(b.regions), "--empty=store",
		"--timestamp=1500000000000", "--memory=" + b.memory, "--spill-dir=" + spill}
	if b.regions == 1 {
		argv = append(argv, fmt.Sprintf("--salt-buckets=%d", guardSalts))
	}
	return Tool{Name: b.name, Rows: b.spec.Rows, Cold: b.cold, Warm: warmFiles(input), Run: func(ctx context.Context, _ int) (Sample, error) {
		if err := errors.Join(os.RemoveAll(out), os.MkdirAll(spill, 0o755)); err != nil {
			return Sample{}, err
		}
		stdout, usage, err := command{argv: argv, dir: l.Root}.run(ctx)
		if err != nil {
			return Sample{}, err
		}
		m := &manifest.Manifest{}
		if err := json.Unmarshal(stdout, m); err != nil {
			return Sample{}, fmt.Errorf("output of bulkload build: %w", err)
		}
		return Sample{Usage: usage, Detail: manifestDetail(m, info.Size())}, os.RemoveAll(out)
	}}, nil
}

// jobFile returns the example job file of a table.
func (l *Lab) jobFile(t data.Table) string {
	return filepath.Join(l.Root, "examples", string(t)+".yaml")
}

// manifestDetail returns the interesting figures of a build's manifest.
func manifestDetail(m *manifest.Manifest, input int64) map[string]float64 {
	d := map[string]float64{
		"input MiB": float64(input) / (1 << 20), "HFiles MiB": float64(m.Bytes) / (1 << 20),
		"read s": m.ReadTime.Seconds(), "write s": m.WriteTime.Seconds(),
	}
	if m.Runs > 0 {
		d["spill MiB"], d["runs"] = float64(m.SpillBytes)/(1<<20), float64(m.Runs)
		d["spill ÷ input"] = float64(m.SpillBytes) / float64(max(input, 1))
	}
	return d
}

// floorTool returns the tool that does the minimal work on the same dump.
func (l *Lab) floorTool(ctx context.Context, s data.Spec) (Tool, error) {
	program, err := l.floor(ctx)
	if err != nil {
		return Tool{}, err
	}
	input, err := l.file(ctx, s, data.Dump)
	if err != nil {
		return Tool{}, err
	}
	out := l.path("out-floor")
	return Tool{Name: "floor", Rows: s.Rows, Warm: warmFiles(input), Run: func(ctx context.Context, _ int) (Sample, error) {
		if err := errors.Join(os.RemoveAll(out), os.MkdirAll(out, 0o755)); err != nil {
			return Sample{}, err
		}
		_, usage, err := command{argv: []string{program, input, out}}.run(ctx)
		if err != nil {
			return Sample{}, err
		}
		return Sample{Usage: usage}, os.RemoveAll(out)
	}}, nil
}

// caseOf adds tools to a case.
func (l *Lab) caseOf(ctx context.Context, c Case, runs ...buildRun) (Case, error) {
	for _, b := range runs {
		t, err := l.buildTool(ctx, b)
		if err != nil {
			return Case{}, err
		}
		c.Tools = append(c.Tools, t)
	}
	return c, nil
}

// buildCase compares bulkload build from each form with the floor on the dump of the same rows.
func (l *Lab) buildCase(ctx context.Context) (Case, error) {
	spec := data.Spec{Table: data.Check, Rows: l.Rows, Seed: l.Seed, Regions: 10}
	c := Case{Name: CaseBuild, Rounds: l.Rounds, Reference: "floor",
		Title: fmt.Sprintf("bulkload build of %s check rows into 10 regions on local disk, against the least possible work", grouped(l.Rows)),
		Notes: []string{"floor reads the dump, whatever form the others read."}}
	switch t, err := l.floorTool(ctx, spec); {
	case errors.Is(err, ErrNoFloor):
		c.Reference = "dump"
		c.Notes = []string{"Without the floor: " + err.Error() + "."}
	case err != nil:
		return Case{}, err
	default:
		c.Tools = append(c.Tools, t)
	}
	return l.caseOf(ctx, c, buildRun{name: "dump", spec: spec, form: data.Dump}, buildRun{name: "csv", spec: spec, form: data.CSV},
		buildRun{name: "parquet", spec: spec, form: data.Parquet})
}
