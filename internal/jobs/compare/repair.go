package compare

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"bulkload/internal/base/workers"
	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/engine/history"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/hbase/staging"
	"bulkload/internal/jobs/job"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/keyrange"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/result"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/rewrite"
	"bulkload/pkg/hfile"
	"bulkload/pkg/loader"
	"bulkload/pkg/setting"
)

// repair is a load of the cells that B lacks: a separate job, so that a load that has begun is resumed before B is read again.
type repair struct {
	req     Request
	options Options
	env     *cluster.Env
	cluster *loader.Cluster // B's cluster
	id      string          // its id
	job     *checkpoint.Job

	facts *cluster.Facts
	dir   *staging.Dir
	files []loader.HFile
	found *run // nil: an earlier attempt's load is resumed
	done  *result.Repair
}

// repair makes B's cells equal to A's where they differ. If found is nil it only finishes a load that an earlier attempt has begun, and returns nil
// if there was none to finish. own is the command's cluster, which has the state if that is shared.
func (r Request) repair(ctx context.Context, own *loader.Cluster, o Options, found *run) (_ *result.Repair, err error) {
	c, err := r.B.Env.Dial(ctx)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	id, err := r.identity("compare, repair", o.State.JobID)
	if err != nil {
		return nil, err
	}
	at, err := c.ID(ctx)
	if err != nil {
		return nil, cluster.Failure(err)
	}
	within := o.Events // events without the opening of the job, which the comparison has reported
	within.OnOpen = nil
	st, err := checkpoint.Open(ctx, own, id.On(at), o.State, within)
	if err != nil {
		return nil, err
	}
	ctx, end := st.Work(ctx)
	defer end(&err, nil)
	p := &repair{req: r, options: o, env: r.B.Env, cluster: c, id: at, job: st, found: found, done: &result.Repair{Job: st.Dir}}
	switch {
	case found == nil && st.Finished:
		st.EndStaging(ctx, p.env, o.Events)
		return nil, nil
	case found == nil && !st.Loading:
		return nil, nil
	case found != nil && (st.Finished || !st.Loading && st.Plan != nil):
		if err := st.Restart(ctx, p.env); err != nil {
			return nil, err
		}
	}
	return p.done, st.Steps(ctx, o.Gate, []checkpoint.Step{
		st.BeginStep(o.State.Version, nil),
		{Name: "plan the repair", Run: p.plan},
		{Name: "write what B lacks", Done: func() bool { return st.Loading }, Run: p.write},
		{Name: "load it", Gate: true, Run: p.load},
	})
}

// repairable refuses a table whose space quota is used up, and one with Phoenix indexes, before the comparison, which may take long. That there is no table is for the comparison to report.
func (r Request) repairable(ctx context.Context, o Options) error {
	c, err := r.B.Env.Dial(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	t, err := c.Describe(ctx, r.B.Table)
	if errors.Is(err, loader.ErrTableNotFound) {
		return nil
	}
	if err != nil {
		return cluster.Failure(err)
	}
	if err := job.CheckQuota(ctx, c, r.B.Table); err != nil {
		return err
	}
	return job.CheckPhoenix(ctx, c, &cluster.Facts{Table: t}, o.PhoenixIndexes, o.Events)
}

// plan reads the table's description, and chooses the staging directory.
func (p *repair) plan(ctx context.Context) (err error) {
	table := p.req.B.Table.String()
	var families []string
	if p.found != nil {
		families = p.found.a.families()
		if only := p.req.Choice.Families(); only != nil {
			families = only
		}
		for _, f := range p.found.b.families() { // for delete markers
			if !slices.Contains(families, f) && p.req.Choice.Families() == nil {
				families = append(families, f)
			}
		}
	} else {
		families = spec.FamilyNames(p.job.Plan.Families)
	}
	if p.facts, err = cluster.TableFacts(ctx, p.env, p.cluster, table, families...); err != nil {
		return err
	}
	if p.found != nil { // otherwise the load has begun
		if err := job.CheckQuota(ctx, p.cluster, p.req.B.Table); err != nil { // the comparison may have taken long
			return err
		}
		if err := job.CheckPhoenix(ctx, p.cluster, p.facts, p.options.PhoenixIndexes, progress.Events{}); err != nil { // it has warned before
			return err
		}
	}
	if p.job.Plan == nil {
		now := time.Now().UnixMilli()
		l, err := staging.Choose(ctx, p.env, p.options.Staging, table, now)
		if err != nil {
			return err
		}
		plan := history.PlanRecord{Job: p.job.ID, Table: table, Conf: p.req.B.Conf, Family: p.facts.Family, Families: p.facts.Families, Columns: []string{}, Timestamp: now, Staging: l.String(),
			Made: &history.TableRecord{Cluster: p.id}} // the rest of the table may change
		if err := p.job.Record(history.EventPlan, plan); err != nil {
			return err
		}
	}
	p.dir, err = p.job.Stage(ctx, p.env, p.job.Plan.Staging)
	return err
}

// region is a region of B with the parts of differing ranges that are in it.
type region struct {
	number int
	ranges []keyrange.Range
	cells  []int64 // number of cells to load, for each family of the facts
}

// write creates a file for each region and family where B differs.
func (p *repair) write(ctx context.Context) error {
	regions := p.regions()
	var marks atomic.Int64
	err := workers.Each(ctx, p.workers(), len(regions), func(ctx context.Context, i int) error {
		r := &regions[i]
		r.cells = make([]int64, len(p.facts.Families))
		return p.cells(ctx, r, "", func(c *hfile.Cell) error {
			r.cells[p.family(c.Family)]++
			if c.Type != hfile.Put {
				marks.Add(1)
			}
			return nil
		})
	})
	if err != nil {
		return err
	}
	p.done.Markers += marks.Load()
	var all []rewrite.Content
	for i := range regions {
		r := &regions[i]
		for k, n := range r.cells {
			if n == 0 {
				continue
			}
			p.done.Cells += n
			name := p.facts.Families[k].Name
			all = append(all, rewrite.Content{Family: name, Name: hfile.Name("repair %s %d %s %d", p.facts.Name, p.job.Plan.Timestamp, name, r.number), Region: r.number,
				What: fmt.Sprintf("cells for region %d", r.number), Size: n * 128,
				Fill: func(ctx context.Context, add func(*hfile.Cell) error) error { return p.cells(ctx, r, name, add) }})
		}
	}
	p.done.Cells -= p.done.Markers
	prefix, _ := rewrite.SplitURI(p.dir.Location.URI())
	rw := rewrite.New(p.dir.FS, p.dir.Location.Path, p.facts.FamilyOf, p.job.Plan.Timestamp, p.job.Check)
	p.files, err = rw.MakeAll(ctx, prefix, all, p.workers(), p.options.Events)
	if err != nil && ctx.Err() == nil {
		err = fail.With(fail.HDFS, err)
	}
	return err
}

func (p *repair) workers() int { return max(p.options.Workers, 2) }

// family returns the index of a family in the facts.
func (p *repair) family(name []byte) int {
	return slices.IndexFunc(p.facts.Families, func(f spec.Family) bool { return f.Name == string(name) })
}

// regions returns the regions of B with ranges that differ.
func (p *repair) regions() (list []region) {
	for i, r := range p.facts.Regions {
		var in []keyrange.Range
		for number, x := range p.found.ranges {
			if f, ok := p.found.job.Compared[number]; !ok || f.Rows() == 0 {
				continue
			}
			if both, ok := x.Intersect(keyrange.Range{Start: r.Start, Stop: r.End}); ok {
				in = append(in, both)
			}
		}
		if len(in) > 0 {
			list = append(list, region{number: i, ranges: in})
		}
	}
	return list
}

// cells passes the cells that make the rows of a region equal to A's to add, for one family or all, in HBase's order.
func (p *repair) cells(ctx context.Context, r *region, family string, add func(*hfile.Cell) error) error {
	v := p.req.view(p.found.now)
	if family != "" {
		v.choice = v.choice.InFamily(family)
	}
	for _, x := range r.ranges {
		if err := p.cellsOf(ctx, x, v, add); err != nil {
			return err
		}
	}
	return nil
}

func (p *repair) cellsOf(ctx context.Context, x keyrange.Range, v view, add func(*hfile.Cell) error) (err error) {
	m, end := p.found.join(ctx, x, v)
	defer func() { err = errors.Join(err, end()) }()
	m.read = func(int64) {}
	m.found = func(d *difference) error {
		if d == nil {
			return nil
		}
		if p.found.masked(d) { // newer than B's delete markers, and older than what others write to B later
			c := *d.a
			c.Timestamp = max(c.Timestamp, p.found.b.at.UnixMilli())
			return add(&c)
		}
		return p.req.repairCells(d, add)
	}
	return m.run(ctx)
}

// masked reports whether the repair before has loaded A's cell, but B shows none of the column, or an older one: a delete marker of B hides the cell.
func (j *run) masked(d *difference) bool {
	return d.a != nil && d.a.Timestamp < j.loaded && (d.b == nil || d.b.Timestamp < d.a.Timestamp) && j.req.overMarkers()
}

// overMarkers reports whether cells that B's delete markers hide may be loaded with a later time. A repair of the cells before a time must not: B's
// newer cells would be hidden.
func (r Request) overMarkers() bool { return !r.Timestamps && r.Choice.Until == 0 }

// repairCells passes the cells that make B show A's contents of a column, or of one of its versions, to add.
func (r Request) repairCells(d *difference, add func(*hfile.Cell) error) error {
	marker := hfile.DeleteColumn // deletes the cell and all older ones
	if r.Versions != 1 || r.Choice.Timed() {
		marker = hfile.Delete // deletes only this cell
	}
	switch {
	case d.a == nil:
		return add(&hfile.Cell{Row: d.b.Row, Family: d.b.Family, Qualifier: d.b.Qualifier, Timestamp: d.b.Timestamp, Type: marker})
	case d.b == nil || d.a.Timestamp >= d.b.Timestamp:
		return add(d.a)
	case !r.Timestamps: // newer than B's cell
		c := *d.a
		c.Timestamp = d.b.Timestamp
		return add(&c)
	}
	if err := add(&hfile.Cell{Row: d.b.Row, Family: d.b.Family, Qualifier: d.b.Qualifier, Timestamp: d.b.Timestamp, Type: hfile.Delete}); err != nil {
		return err
	}
	return add(d.a)
}

// load brings the files into B.
func (p *repair) load(ctx context.Context) error {
	r := &result.Result{Schema: 1, Table: p.facts.Name.String(), Job: p.job.Dir, Staging: p.job.Plan.Staging}
	p.done.Files = len(p.files)
	if p.found != nil {
		p.done.Found = p.found.result.Found
	}
	s := job.Staged{Env: p.env, Cluster: p.cluster, Facts: p.facts, Dir: p.dir, Files: job.StagedFiles(p.files), Journal: p.job}
	o := job.LoadOptions{}
	o.Gate, o.Uploads, o.Events = p.options.Gate, p.options.Uploads, p.options.Events
	if err := s.Load(ctx, o, r); err != nil {
		return err
	}
	p.job.EndPrepared(ctx, p.env, p.cluster, p.options.Events)
	return p.job.End(ctx, r, p.dir, false, p.options.Events)
}

// hidden advises what to do if B's delete markers hide the loaded cells. A family that keeps deleted cells keeps its markers through compactions.
func (r Request) hidden(ctx context.Context) setting.Text {
	keeps := ""
	if c, err := r.B.Env.Dial(ctx); err == nil { // without an answer the advice is the one for most tables
		defer c.Close()
		if t, err := c.Describe(ctx, r.B.Table); err == nil {
			keeps = keepsDeleted(t.Families)
		}
	}
	switch {
	case keeps == "":
		return setting.Textf("delete markers hide what was loaded, or others write: major_compact it, then repeat")
	case r.Choice.Until > 0:
		return setting.Textf("family %s has KEEP_DELETED_CELLS: no compaction drops markers, and with %s no cell is loaded over them", keeps, setting.Until)
	case r.Timestamps:
		return setting.Textf("family %s has KEEP_DELETED_CELLS: no compaction drops markers, leave %s out", keeps, setting.Timestamps)
	}
	return setting.Textf("family %s has KEEP_DELETED_CELLS: no compaction drops markers of a later time; or others write", keeps)
}

// keepsDeleted returns the first family with KEEP_DELETED_CELLS, empty if there is none.
func keepsDeleted(families []loader.Family) string {
	for _, f := range families {
		if keep := strings.ToUpper(f.Attributes["KEEP_DELETED_CELLS"]); keep == "TRUE" || keep == "TTL" {
			return f.Name
		}
	}
	return ""
}
