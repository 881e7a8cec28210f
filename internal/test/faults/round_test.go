package faults

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"bulkload/internal/test/bench/data"
)

// maxRuns is the number of runs of the command: once, and three repetitions.
const maxRuns = 4

// round is a round in progress.
type round struct {
	lab    *Lab
	job    Job
	fault  Fault
	name   string
	table  string
	state  string // directory of the job's state
	spill  string
	stage  string // directory on HDFS
	exists bool   // the table exists
	prior  []row  // rows that are in it
	others []row  // all rows of the table before the job
	before int64  // number of their cells
	loaded []row  // of the job, in order
	argv   []string
	armed  <-chan struct{}
	note   string
	result []byte // output of the last run

	input     *delivery // the current input; nil: no export
	contents  []content // allowed final contents of the table; the last one is that of the current input
	names     []string  // a refusal contains one of them
	late      bool      // the fault was injected when there was nothing left to affect
	undecided bool      // it was injected when the cause of the outcome is not known
	flipped   string    // file on HDFS
	partly    bool      // the input is incomplete
}

// Draw draws a job and a fault of a kind, or of any kind if kind is empty, from the seed.
func Draw(seed uint64, kind string) (Job, Fault) {
	r := rand.New(rand.NewPCG(seed, 0x6c6f6164))
	j := RandomJob(r)
	return fitted(j, RandomFault(r, kind))
}

// Round runs the round of the seed.
func (l *Lab) Round(ctx context.Context, seed uint64, kind string) *Outcome {
	j, f := Draw(seed, kind)
	return l.Do(ctx, seed, j, f)
}

// Do runs a round. Its names are derived from the seed and the clock.
func (l *Lab) Do(ctx context.Context, seed uint64, j Job, f Fault) *Outcome {
	r := l.round(seed, j, f)
	o := r.whole(ctx, seed)
	if o.OK() || f.Kind == BitFlip {
		// A bad round's table is evidence; but a damaged region would disturb the servers in later rounds.
		if _, err := l.admin(ctx, "drop", r.table); err != nil {
			l.Log.Warn("the table of a round is not dropped", "table", r.table, "error", err)
		}
	}
	if o.OK() {
		os.RemoveAll(filepath.Join(l.Dir, r.name))
	}
	return o
}

// round returns a round that has not begun.
func (l *Lab) round(seed uint64, j Job, f Fault) *round {
	j.Spec.Table = cmp.Or(j.Spec.Table, data.Check)
	name := fmt.Sprintf("r%d-%x", seed, time.Now().UnixMilli())
	return &round{lab: l, job: j, fault: f, name: name, table: "faults:" + name, stage: stagingRoot + "/" + name,
		state: filepath.Join(l.Dir, name, "state"), spill: filepath.Join(l.Dir, name, "spill")}
}

// whole runs a round and keeps its table.
func (r *round) whole(ctx context.Context, seed uint64) *Outcome {
	start := time.Now()
	o := &Outcome{Seed: seed, Job: r.job, Fault: r.fault}
	o.Broken = r.do(ctx, o)
	o.Note, o.Took = r.note, time.Since(start)
	o.Spoilt = r.flipped != "" && r.fault.How != flipReplica && (o.Silent || o.Late || r.undecided || r.journaled("loaded", r.flipped))
	return o
}

func (r *round) do(ctx context.Context, o *Outcome) error {
	if err := r.prepare(ctx); err != nil {
		return fmt.Errorf("prepare: %w", err)
	}
	if r.fault.proxied() {
		r.armed = r.lab.proxies.Arm(Harm(r.fault.Kind), r.fault.Calls, r.fault.For)
	}
	if err := r.commands(ctx, o); err != nil {
		return err
	}
	if r.fault.proxied() {
		o.Calls, _ = r.lab.proxies.Disarm()
	}
	if err := r.lab.Heal(ctx); err != nil {
		return err
	}
	if r.undecided || o.Refused {
		return nil
	}
	if last := o.Exits[len(o.Exits)-1]; last != 0 {
		o.problem("exit code %d after %d runs: %s", last, len(o.Exits), o.Errors[len(o.Errors)-1])
		if r.fault.mayRefuse() {
			return nil // it has not reported that anything is in the table
		}
	}
	if r.lab.can("state") {
		o.Events, _ = events(r.state)
		if err := r.repeat(ctx, o); err != nil {
			return err
		}
	}
	return r.judge(ctx, o)
}

// exitDoneBefore is the exit code of a job that was done before, with --skip-exit-code.
const exitDoneBefore = 99

// repeat runs the command of a finished job once more: it must report that there is nothing to do. The judge detects
// any work that it does instead.
func (r *round) repeat(ctx context.Context, o *Outcome) error {
	if o.Exits[len(o.Exits)-1] != 0 {
		return nil
	}
	p, err := launch(append(slices.Clone(r.argv), "--skip-exit-code"), r.lab.environment(), r.lab.root)
	if err != nil {
		return err
	}
	if err := p.wait(ctx); err != nil {
		return err
	}
	if r.fault.Kind == InputChange && p.exit != exitDoneBefore && o.Hit {
		r.refusal(p, o) // a report that the input has changed is right too
	} else if p.exit != exitDoneBefore {
		o.problem("the finished job run again exits %d, want %d: %s", p.exit, exitDoneBefore, p.lastError())
	}
	return nil
}

// run runs the command once, and injects the fault if requested. The cluster is healthy when it returns.
func (r *round) run(ctx context.Context, argv []string, inject bool, o *Outcome) (*process, error) {
	var more []string
	if inject && r.fault.kills() {
		more = append(more, fmt.Sprintf("BULKLOAD_TEST_STOP_AFTER=%s:%d", r.fault.When.Event, r.fault.Nth))
	}
	p, err := launch(argv, r.lab.environment(more...), r.lab.root)
	if err != nil {
		return nil, err
	}
	stop := r.lab.watch.begin(ctx, r.lab)
	if inject {
		injected := make(chan error, 1)
		go func() {
			hit, err := r.inject(ctx, p)
			o.Hit = hit
			<-p.done
			injected <- errors.Join(err, r.arrive(p))
		}()
		err = errors.Join(p.wait(ctx), <-injected)
	} else {
		err = p.wait(ctx)
	}
	stop()
	o.Exits = append(o.Exits, p.exit)
	r.result = p.stdout.Bytes()
	if p.exit != 0 {
		o.Errors = append(o.Errors, p.lastError())
	}
	r.keep(len(o.Exits), p)
	if p.leftover() {
		o.problem("a process of the group %d is left", p.pid)
	}
	if ctx.Err() != nil {
		return p, context.Cause(ctx)
	}
	if err != nil {
		o.problem("%v", err)
	}
	if p.exit == 0 && !inject {
		return p, nil
	}
	return p, r.lab.Heal(ctx)
}

// keep writes the output of a run next to its state, with the other evidence of a bad round.
func (r *round) keep(n int, p *process) {
	for name, b := range map[string][]byte{"out": p.stdout.Bytes(), "err": p.stderr.Bytes()} {
		file := filepath.Join(filepath.Dir(r.state), fmt.Sprintf("run%d.%s", n, name))
		if err := os.WriteFile(file, b, 0o644); err != nil {
			r.lab.Log.Warn("output is not kept", "error", err)
		}
	}
}

// prepare creates the input, the table and the command.
func (r *round) prepare(ctx context.Context) (err error) {
	for _, dir := range []string{r.state, r.spill} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	// A daemon may end long after the fault that causes it.
	if err := r.lab.Heal(ctx); err != nil {
		return err
	}
	if r.input, err = deliver(ctx, filepath.Dir(r.state), r.job); err != nil {
		return err
	}
	if r.fault.How == Arrive {
		r.partly = true
		if err := r.input.part(rand.New(rand.NewPCG(r.fault.Pick, partStream))); err != nil {
			return err
		}
	}
	r.loaded = r.input.rows(r.job.Spec.Regions, r.job.Store)
	r.names = append(r.input.names(), r.table)
	if !r.exists {
		if err := r.create(ctx); err != nil {
			return err
		}
	}
	if err := r.occupy(ctx); err != nil {
		return err
	}
	empty := "skip"
	if r.job.Store {
		empty = "store"
	}
	r.argv = []string{r.lab.Program, "run", "--output=json", "--log-level=debug",
		"--job=" + filepath.Join(r.lab.root, "examples", string(r.job.Spec.Table)+".yaml"), "--table=" + r.table,
		"--format=" + string(r.job.Form), "--salt-buckets=" + strconv.Itoa(r.job.Spec.Regions), "--memory=" + r.job.Memory, "--workers=2",
		"--spill-dir=" + r.spill, "--staging=" + r.stage, "--verify=" + r.job.Verify, "--empty=" + empty}
	for _, input := range r.input.inputs() {
		r.argv = append(r.argv, "--input="+input)
	}
	if r.lab.can("state") {
		r.argv = append(r.argv, "--state="+r.state)
	}
	if r.lab.can("load-mode") && r.job.Stage != "" {
		r.argv = append(r.argv, "--load-mode="+r.job.Stage)
	}
	return nil
}

// create creates the table. It keeps versions, so that a cell that another one hides still counts.
func (r *round) create(ctx context.Context) error {
	args := []string{"create", r.table, "--compression", "SNAPPY", "--encoding", "FAST_DIFF", "--bloom", "ROW", "--versions", "5"}
	if s := splits(r.job.Spec.Regions); len(s) > 0 {
		args = append(args, "--splits", strings.Join(s, ","))
	}
	var attributes []string
	if !r.job.Compact {
		attributes = append(attributes, "COMPACTION_ENABLED=false")
	}
	if r.job.Tracker != "" {
		attributes = append(attributes, "hbase.store.file-tracker.impl="+r.job.Tracker)
	}
	if len(attributes) > 0 {
		args = append(args, "--attribute", strings.Join(attributes, ","))
	}
	_, err := r.lab.admin(ctx, args...)
	return err
}

// occupy puts cells into the table, half of them under cells that the job loads, and computes the table's expected
// final content.
func (r *round) occupy(ctx context.Context) error {
	r.others = slices.Clone(r.prior)
	for i := range r.job.Before {
		key, column, value := fmt.Sprintf("%d-before-%03d", i%10, i), "id", "before "+strconv.Itoa(i)
		if i%2 == 1 {
			key = r.loaded[len(r.loaded)*i/r.job.Before].key
		}
		r.others = append(r.others, row{key, []cell{{column, value}}})
		if _, err := r.lab.admin(ctx, "put", r.table, key, family+":"+column, value, "1000"); err != nil {
			return err
		}
		r.before++
	}
	r.deliver(r.input, "the input")
	if r.job.Before == 0 {
		return nil
	}
	_, err := r.lab.admin(ctx, "flush", r.table)
	return err
}
