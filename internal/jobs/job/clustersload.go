package job

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"bulkload/internal/engine/history"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/result"
	"bulkload/internal/model/spec"
	"bulkload/pkg/keygen"
	"bulkload/pkg/setting"
)

// absolute returns the absolute paths of configurations, so that neither their spelling nor the working directory nor a symbolic link makes another job
// of a run. A path into the data of a Kubernetes volume, a directory ..DATE that each update replaces, keeps its links.
func absolute(given []string) (paths []string, err error) {
	for _, conf := range given {
		p, err := filepath.Abs(conf)
		if err != nil {
			return nil, fail.With(fail.Config, err)
		}
		if target, err := filepath.EvalSymlinks(p); err == nil && !strings.Contains(target, "/..") {
			p = target
		}
		paths = append(paths, p)
	}
	return paths, nil
}

// openDestinations opens the clusters, starting with that of env. If there is an error it returns the clusters opened so far, too.
func openDestinations(env *cluster.Env, also []string) ([]destination, error) {
	all := []destination{{env: env}}
	for _, conf := range also {
		other, err := env.Other(conf)
		if err != nil {
			return all, err
		}
		for _, d := range all {
			if d.env.Conf.Value("hbase.zookeeper.quorum") == other.Conf.Value("hbase.zookeeper.quorum") &&
				d.env.Conf.Value("hbase.zookeeper.property.clientPort") == other.Conf.Value("hbase.zookeeper.property.clientPort") &&
				d.env.Conf.Value("zookeeper.znode.parent") == other.Conf.Value("zookeeper.znode.parent") {
				return all, errors.Join(sameCluster(conf, d), other.Close())
			}
		}
		all = append(all, destination{env: other, conf: conf})
	}
	return all, nil
}

func sameCluster(conf string, d destination) error {
	return fail.With(fail.Config, setting.Errorf("%s %s names the cluster %s again: each cluster gets the files once", setting.Also, conf, d))
}

// loadAll loads the files concurrently into the clusters that do not have them, and waits for all loads. It records each finished cluster.
func (j *clustersRun) loadAll(ctx context.Context) error {
	j.result.Clusters = make([]result.Cluster, len(j.destinations))
	has, errs := j.recorded(ctx) // a load that has ended changes the history, so that what is left is found before the first one starts
	var left []int
	for i, d := range j.destinations {
		switch r := &j.result.Clusters[i]; {
		case errs[i] != nil:
			*r = j.job.Clusters[d.conf]
			r.Status, r.Error = statusOf(ctx, errs[i]), errs[i].Error()
		case has[i]:
			*r = j.job.Clusters[d.conf]
			r.Status = result.PartAlready
		default:
			if was, known := j.job.Clusters[d.conf]; known {
				j.options.Events.Warn("a configuration leads to another cluster than the one that has the files: it is loaded too", "cluster", d.String(), "loaded", loadedCluster(was))
			}
			left = append(left, i)
		}
	}
	var loads sync.WaitGroup
	for n, i := range left {
		d := j.destinations[i]
		e := eventsOf(d, j.options.Events, n == 0)
		loads.Go(func() {
			r := &j.result.Clusters[i]
			*r, errs[i] = j.loadInto(ctx, d, e)
			if errs[i] == nil {
				r.ID = loadedCluster(*r)
				errs[i] = j.job.Record(history.EventCluster, history.ClusterRecord{Conf: d.conf, Result: *r})
			}
			if errs[i] != nil {
				r.Error = errs[i].Error()
			}
		})
	}
	loads.Wait()
	j.sum()
	return j.joined(errs)
}

// joined returns the errors of all clusters as one.
func (j *clustersRun) joined(errs []error) (all error) {
	for i, err := range errs {
		if err != nil {
			all = errors.Join(all, fmt.Errorf("cluster %s: %w", j.destinations[i], err))
		}
	}
	return all
}

// statusOf returns the status of a part of a job, such as the load into a cluster, that has ended with an error, or without one.
func statusOf(ctx context.Context, err error) result.PartStatus {
	switch {
	case err == nil:
		return result.PartDone
	case ctx.Err() != nil:
		return result.PartStopped
	case fail.KindOf(err) == fail.Busy:
		return result.PartBusy
	}
	return result.PartFailed
}

// eventsOf returns the events of the load into one cluster. Only one of them shows its phases and progress.
func eventsOf(d destination, all progress.Events, shown bool) progress.Events {
	e := progress.Events{}
	if shown {
		e = all
		e.OnOpen, e.OnStart = nil, nil // the job has already begun
	}
	e.OnNote = func(msg string, kv ...any) { all.Note(msg, append([]any{"cluster", d.String()}, kv...)...) }
	e.OnWarn = func(msg string, kv ...any) { all.Warn(msg, append([]any{"cluster", d.String()}, kv...)...) }
	return e
}

// loadInto loads the files of all tables into a cluster, and verifies them there.
func (j *clustersRun) loadInto(ctx context.Context, d destination, e progress.Events) (r result.Cluster, err error) {
	start := time.Now()
	r = result.Cluster{Conf: d.conf}
	defer func() { r.Elapsed, r.Status = time.Since(start), statusOf(ctx, err) }()
	if err := j.saltOn(ctx, d); err != nil {
		return r, err
	}
	o := LoadOptions{RunOptions: j.options, Verify: j.spec.Verify, Unreplicated: j.spec.Replicate == "no", PhoenixIndexes: j.spec.PhoenixIndexes,
		Replace: j.spec.Replace, MaxDeletes: j.spec.Spec().MaxDeletes, ReplaceRejected: j.spec.ReplaceRejected, salted: true}
	o.State.Restart, o.Splits, o.Events = false, nil, e // the files are new, so are their loads; the tables exist
	for i, t := range j.spec.Targets() {
		if len(j.manifests[i].Files) == 0 && !j.spec.Replace {
			r.Tables = append(r.Tables, result.Table{Table: t.Table, Index: t.Index})
			continue // no rows
		}
		one, err := LoadDir(ctx, d.env, t.Table, filepath.Join(j.local, t.Dir), o)
		if one != nil {
			table := result.Table{Table: one.Table, Index: t.Index, Regions: one.Regions, LoadTime: one.LoadTime, Verify: one.Verify, VerifyTime: one.VerifyTime}
			if r.Tables = append(r.Tables, table); one.Job != "" {
				r.Jobs = append(r.Jobs, one.Job)
			}
			if one.Replace != nil {
				r.Replace = one.Replace
			}
		}
		if err != nil {
			return r, err
		}
	}
	return r, nil
}

// discardLoads discards the loads of a job that starts over which have not finished. A load whose cluster is out of reach or whose files are damaged
// stays.
func (j *clustersRun) discardLoads(ctx context.Context) error {
	if j.job.Built == nil || j.job.Finished {
		return nil
	}
	has, _ := j.recorded(ctx)
	for i, d := range j.destinations {
		if has[i] {
			continue
		}
		for _, t := range j.spec.Targets() {
			o := LoadOptions{Replace: j.spec.Replace, MaxDeletes: j.spec.Spec().MaxDeletes, ReplaceRejected: j.spec.ReplaceRejected, discard: true}
			o.State, o.Gate = j.options.State, j.options.Gate
			_, err := LoadDir(ctx, d.env, t.Table, filepath.Join(j.local, t.Dir), o)
			if kind := fail.KindOf(err); err != nil && (ctx.Err() != nil || kind == fail.Busy || kind == fail.Check) {
				return fmt.Errorf("cluster %s: %w", d, err)
			}
			if err != nil {
				j.options.Events.Warn("a load that had begun is left behind (clean with the configuration of its cluster removes it)", "cluster", d.String(), "table", t.Table, "error", err)
			}
		}
	}
	return nil
}

// saltOn refuses a cluster whose tables have other numbers of salts than the keys were built for: its readers would not find the rows.
func (j *clustersRun) saltOn(ctx context.Context, d destination) error {
	targets := j.spec.Targets()
	if !slices.ContainsFunc(targets, salted) {
		return nil
	}
	c, err := d.env.Dial(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	for i, t := range targets {
		facts, err := cluster.TableFacts(ctx, d.env, c, t.Table, t.Families()...)
		if err != nil {
			return err
		}
		if err := sameSalt(t, facts, j.job.Plan.Of(i).Modulus); err != nil {
			return err
		}
	}
	return nil
}

// salted reports whether the salt of a table's keys depends on the table's split points.
func salted(t spec.Target) bool { return keygen.NeedsRegions(t.RowKey()) && t.Regions == 0 }

// sameSalts refuses tables whose split points give another salt modulus than those of the first cluster.
func (j *clustersRun) sameSalts(first, facts []*cluster.Facts) error {
	for i, t := range j.spec.Targets() {
		was, err := t.SaltModulus(first[i].Splits)
		if err == nil {
			err = sameSalt(t, facts[i], was)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func sameSalt(t spec.Target, facts *cluster.Facts, was int) error {
	if !salted(t) {
		return nil
	}
	n, err := t.SaltModulus(facts.Splits)
	if err == nil && n != was {
		err = fail.With(fail.Check, setting.Errorf("table %s has %d salts there, and the keys are built for %d: %s names the number for all clusters", t.Table, n, was, setting.SaltBuckets))
	}
	return err
}

// sum adds the totals of the clusters to the result: the longest times, and the first verification.
func (j *clustersRun) sum() {
	r := j.result
	for _, c := range r.Clusters {
		for i, t := range c.Tables {
			if i == 0 {
				r.Regions, r.LoadTime, r.VerifyTime = max(r.Regions, t.Regions), max(r.LoadTime, t.LoadTime), max(r.VerifyTime, t.VerifyTime)
				if r.Verify == nil {
					r.Verify = t.Verify
				}
			} else if i <= len(r.Tables) {
				own := &r.Tables[i-1]
				own.Regions, own.LoadTime, own.VerifyTime = max(own.Regions, t.Regions), max(own.LoadTime, t.LoadTime), max(own.VerifyTime, t.VerifyTime)
				if own.Verify == nil {
					own.Verify = t.Verify
				}
			}
		}
	}
}

// end records that the job is done, and removes the HFiles.
func (j *clustersRun) end(ctx context.Context) error {
	j.result.Elapsed = time.Since(j.started)
	err := j.job.End(ctx, j.result, nil, false, j.options.Events)
	if err == nil {
		j.removeFiles()
	}
	return err
}

func (j *clustersRun) removeFiles() {
	if j.options.Keep {
		return
	}
	if err := os.RemoveAll(j.local); err != nil {
		j.options.Events.Warn("HFiles that all clusters have are left behind", "path", j.local, "error", err)
	}
}
