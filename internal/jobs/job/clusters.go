package job

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"bulkload/internal/base/abilities"
	"bulkload/internal/base/workers"
	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/result"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/pipeline/preflight"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/loader"
	"bulkload/pkg/setting"
)

// builtDir is the directory for HFiles in the state directory of a job for several clusters.
const builtDir = "hfiles"

// destination is one of the clusters that receive the files.
type destination struct {
	env  *cluster.Env
	conf string // configuration directory; empty: the command's own
}

func (d destination) String() string {
	return cmp.Or(d.conf, "of the command")
}

// clustersRun is the work of one process on a job for several clusters.
type clustersRun struct {
	run
	destinations []destination
	manifests    []*manifest.Manifest // of the built files, one for each table
	idOf         func(*cluster.Env, context.Context) (string, error)
}

// RunOnClusters does the job of [Run] for the tables of several clusters: the one of env, and those of o.Also. It builds the HFiles once, on local
// disk next to the journal, and loads them into each cluster with [LoadDir], as a job with its own journal. The loads run concurrently, and a failed
// load does not stop the others. The same call resumes after a crash or a failure, and loads into the remaining clusters. The HFiles are kept until
// all clusters have loaded them.
func RunOnClusters(ctx context.Context, env *cluster.Env, s spec.Job, o RunOptions) (r *result.Result, err error) {
	start := time.Now()
	table, err := cluster.TableName(s)
	if err != nil {
		return nil, err
	}
	if s.Verify == "sample" {
		s.Verify = "full" // of all rows, whose digest is in the files' manifest
	}
	if err := checkClusters(o, s); err != nil {
		return nil, err
	}
	if o.Also, err = absolute(o.Also); err != nil {
		return nil, err
	}
	all, err := openDestinations(env, o.Also)
	defer func() {
		for _, d := range all[min(1, len(all)):] {
			err = errors.Join(err, d.env.Close())
		}
	}()
	if err != nil {
		return nil, err
	}
	id, err := checkpoint.Identify(env, s, strings.Join(append([]string{o.State.JobID, "clusters"}, slices.Sorted(slices.Values(o.Also))...), "\x00"))
	if err != nil {
		return nil, err
	}
	if err := o.State.MakeDir(); err != nil {
		return nil, err
	}
	st, err := checkpoint.Open(ctx, nil, id.On("several clusters"), o.State, o.Events)
	if err != nil {
		return nil, err
	}
	ctx, end := st.Work(ctx)
	defer func() { end(&err, r) }()
	j := &clustersRun{destinations: all, idOf: (*cluster.Env).ClusterID, run: run{env: env, spec: s, options: o, job: st, started: start, local: filepath.Join(st.Dir, builtDir),
		result: &result.Result{Schema: 1, Table: table.String(), Job: st.Dir, JobFile: o.JobFile}}}
	defer func() { j.result.Elapsed = cmp.Or(j.result.Elapsed, time.Since(start)) }()
	if err := KeepRejects(&j.options.WorkOptions, st.Dir); err != nil {
		return j.result, err
	}
	if o.State.Restart {
		first := &clustersRun{destinations: all, idOf: (*cluster.Env).ClusterID, run: run{env: env, spec: s, options: o, job: st, local: j.local}}
		err := first.rehearse(ctx, first.look)
		if first.cluster != nil {
			first.cluster.Close()
		}
		if err == nil {
			err = j.discardLoads(ctx)
		}
		if err != nil {
			return j.result, err
		}
		if err := st.Restart(ctx, env, j.dropLocal); err != nil {
			return j.result, err
		}
	}
	if err := cmp.Or(j.loadsUndone(), j.sameReplacing()); err != nil {
		return j.result, err
	}
	defer func() {
		err = errors.Join(err, j.streams.Close())
		if j.cluster != nil {
			j.cluster.Close()
		}
	}()
	if err := j.sameInput(ctx); err != nil {
		return j.result, err
	}
	if st.Finished {
		return j.result, j.alreadyDone(ctx)
	}
	if err := progress.Pass(ctx, o.Gate); err != nil {
		return j.result, err
	}
	return j.result, st.Steps(ctx, o.Gate, j.steps())
}

// sameInput refuses other inputs, or other settings for reading them, than those of the files that are built already. Otherwise the plan refuses them.
func (j *clustersRun) sameInput(ctx context.Context) error {
	old := j.job.Plan
	if old == nil || j.job.Built == nil {
		return nil
	}
	if err := j.openInput(ctx); err != nil {
		return err
	}
	now, err := j.planRecord(ctx)
	if err != nil {
		return err
	}
	asked := old.Asked(j.spec)
	for i := range 1 + min(len(old.Tables), len(now.Tables)) { // families as the tables had them, with the job's settings
		p, as := now.At(i), asked.At(i)
		p.Table, p.Family, p.Families = as.Table, as.Family, as.Families
	}
	now.Table = old.Table
	return j.job.SamePlan(now)
}

// checkClusters refuses options that a job for several clusters does not support.
func checkClusters(o RunOptions, s spec.Job) error {
	refuse := func(c abilities.Column) error {
		return fail.With(fail.Config, abilities.Refusal(abilities.Clusters, c))
	}
	switch {
	case o.YARN != nil:
		return refuse(abilities.YARN)
	case checkpoint.IsShared(o.State.Dir):
		return refuse(abilities.Host)
	case o.State.Dir == "":
		return fail.With(fail.Config, setting.Errorf("%s needs %s: the HFiles and the journal of each cluster are there", setting.Also, setting.State))
	case o.Into != "":
		return fail.With(fail.Config, setting.Errorf("%s goes with one cluster only: build the HFiles, and load them with %s on each", setting.Into, setting.Into))
	}
	_, err := inPlaceOf(o, s)
	return cmp.Or(err, checkTables(o, s), checkReplace(s), refuseTables(s, abilities.Clusters, abilities.Part),
		fail.With(fail.Config, abilities.Verifies(abilities.Clusters, s.Verify, "full", "off")), checkDuplicatesFile(o, s))
}

// steps returns the steps of the job: one build, and a load into each cluster.
func (j *clustersRun) steps() []checkpoint.Step {
	built := func() bool { return j.job.Built != nil }
	return []checkpoint.Step{
		j.job.BeginStep(j.options.State.Version, &j.result.Attempt),
		{Name: "look at the clusters", Done: built, Run: j.look},
		{Name: "plan the build", Done: built, Run: j.plan},
		{Name: "build the files", Run: j.buildOnce},
		{Name: "load and verify on each cluster", Gate: true, Run: j.loadAll},
		{Name: "end the job", Run: j.end},
	}
}

// look checks the clusters that can be reached. The build divides its rows by the tables of the first of them. The other clusters are checked when
// the files are loaded.
func (j *clustersRun) look(ctx context.Context) error {
	type seen struct {
		c     *loader.Cluster
		id    string
		facts []*cluster.Facts // of each table
		err   error
	}
	found := make([]seen, len(j.destinations))
	_ = workers.Run(ctx, len(found), func(ctx context.Context, i int) error {
		s, d := &found[i], j.destinations[i]
		if s.c, s.err = d.env.Dial(ctx); s.err != nil {
			return nil
		}
		if s.id, s.err = s.c.ID(ctx); s.err != nil {
			s.err = cluster.Failure(s.err)
			return nil
		}
		s.facts, s.err = j.lookAt(ctx, d, s.c)
		return nil // the other clusters are checked too
	})
	var unreached, refused error
	var facts []*cluster.Facts
	for i, s := range found {
		if at := slices.IndexFunc(found[:i], func(o seen) bool { return o.id == s.id && s.id != "" }); at >= 0 { // the same cluster by other host names
			s.err = sameCluster(j.destinations[i].conf, j.destinations[at])
		}
		if s.err == nil && facts != nil {
			s.err = j.sameSalts(facts, s.facts)
		}
		if s.err == nil && facts == nil {
			j.cluster, facts = s.c, s.facts
		} else if s.c != nil {
			s.c.Close()
		}
		if s.err == nil {
			continue
		}
		err := fmt.Errorf("cluster %s: %w", j.destinations[i], s.err)
		if ctx.Err() != nil || !fail.KindOf(s.err).Retry() {
			refused = cmp.Or(refused, err)
			continue
		}
		unreached = cmp.Or(unreached, err)
		j.options.Events.Warn("a cluster is not reached, and gets the rows when it is: give the same command again then", "cluster", j.destinations[i].String(), "error", s.err)
	}
	if refused != nil || facts == nil {
		return cmp.Or(refused, unreached)
	}
	j.facts = facts[0]
	j.spec.Table = j.facts.Name.String()
	return j.setTargets(facts)
}

// lookAt checks the prerequisites of the load into a cluster, and returns the facts of each table.
func (j *clustersRun) lookAt(ctx context.Context, d destination, c *loader.Cluster) (all []*cluster.Facts, err error) {
	if err := snapshotFree(ctx, c, j.job, j.options.Snapshot, false); err != nil {
		return nil, err
	}
	for _, t := range j.spec.Targets() {
		facts, err := cluster.TableFacts(ctx, d.env, c, t.Table, t.Families()...)
		if err != nil {
			return nil, err
		}
		s := t.Job
		if s.Regions, err = s.SaltModulus(facts.Splits); err != nil {
			return nil, err
		}
		s.Inputs = nil
		r, err := preflight.Run(ctx, d.env, s, preflight.Options{WorkOptions: j.options.WorkOptions, Staging: j.options.Staging, Stage: j.options.Stage, Cluster: c, Snapshot: j.options.Snapshot != ""})
		if err == nil {
			err = r.Err()
		}
		if err != nil {
			return nil, err
		}
		all = append(all, facts)
	}
	return all, nil
}

// buildOnce builds the HFiles on local disk, unless they are already built.
func (j *clustersRun) buildOnce(ctx context.Context) error {
	if j.job.Built == nil {
		files, err := j.makeFiles(ctx)
		for _, f := range files {
			j.manifests = append(j.manifests, f.manifest)
		}
		if err == nil {
			j.dropStreams()
		}
		return err
	}
	for _, t := range j.spec.Targets() {
		m, err := manifest.Read(ctx, hdfsio.Local{}, filepath.Join(j.local, t.Dir))
		if err != nil {
			return fail.With(fail.Input, setting.Errorf("HFiles that were built for all clusters: %w (%s builds them again)", err, setting.Restart))
		}
		j.manifests = append(j.manifests, m)
	}
	if len(j.job.Clusters) == 0 { // nothing is loaded
		if err := cmp.Or(build.ExpectedEarlier(j.manifests[0].Records, j.spec.Expect), build.SomeRowsEarlier(j.manifests, j.spec.AllowEmpty), j.sameLeftOut(j.manifests), j.expected(ctx, j.manifests)); err != nil {
			return err
		}
	}
	j.result.SetManifests(j.spec.Targets(), j.manifests)
	p := j.job.Plan
	j.options.Events.Start(progress.Start{Job: j.job.Dir, JobID: j.options.State.JobID, Table: p.Table, Attempt: j.result.Attempt, Inputs: j.spec.Inputs, Regions: len(p.Splits) + 1, Timestamp: p.Timestamp,
		Phases: j.phasesLeft(), Verify: j.spec.Verify})
	return nil
}
