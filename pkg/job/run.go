package job

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"time"

	"bulkload/pkg/hdfsio"
	"bulkload/pkg/loader"
)

// RunOptions are [WorkOptions] with what only a whole run needs.
type RunOptions struct {
	WorkOptions
	Staging string // directory on HDFS, default /tmp/bulkload-USER
	Keep    bool   // leave the staging directory of a successful run
}

// Result is what a run or a load came to.
type Result struct {
	Schema   int           `json:"schema"` // version of this form: 1
	Table    string        `json:"table"`
	Staging  string        `json:"staging"`
	Manifest *Manifest     `json:"manifest"`
	Regions  int           `json:"regions"` // that took files
	LoadTime time.Duration `json:"load_ns"`
	Verify   *Verification `json:"verify,omitempty"`
	Elapsed  time.Duration `json:"elapsed_ns"`
}

// Summary is the result without the list of files.
func (r *Result) Summary() *Result {
	s := *r
	if s.Manifest != nil {
		s.Manifest = s.Manifest.Summary()
	}
	return &s
}

// samplesPerRegion is how many rows of each region a run in mode sample reads back.
const samplesPerRegion = 20

// Run does the whole job: table facts, build into staging, load, verify.
// Nothing is loaded unless the whole input was read and every file verified.
func Run(ctx context.Context, env *Env, s Spec, o RunOptions) (*Result, error) {
	start := time.Now()
	s = s.withDefaults()
	table, err := tableName(s)
	if err != nil {
		return nil, err
	}
	c, err := env.Dial(ctx)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	facts, err := tableFacts(ctx, env, c, table, s.Family)
	if err != nil {
		return nil, err
	}
	family, err := s.ApplyTo(facts.Family)
	if err != nil {
		return nil, err
	}
	if family != facts.Family {
		o.Events.warn("the job's settings override the table's", "table", fmt.Sprintf("%+v", facts.Family), "job", fmt.Sprintf("%+v", family))
	}
	k, err := openInput(ctx, env, s, o.WorkOptions)
	if err != nil {
		return nil, err
	}
	s.Table = facts.Name.String()
	plan, err := NewPlan(s, k.in.Columns(), family, facts.Splits, time.Now().UnixMilli())
	if err != nil {
		return nil, err
	}
	o.Events.note("plan made", "table", s.Table, "regions", plan.Ranges.Len(), "modulus", plan.Modulus, "timestamp", plan.Timestamp,
		"compression", family.Compression, "encoding", family.Encoding, "bloom", family.Bloom)
	stage, err := openStaging(ctx, env, o.Staging, plan.Table, plan.Timestamp)
	if err != nil {
		return nil, err
	}
	sample := 0
	if s.Verify == "sample" {
		sample = samplesPerRegion
	}
	m, err := k.build(ctx, plan, stage.out, o.WorkOptions, sample)
	if err != nil {
		return nil, errors.Join(err, stage.remove(ctx))
	}
	r := &Result{Schema: 1, Table: s.Table, Staging: stage.location.String(), Manifest: m}
	if err := loadFiles(ctx, c, facts.Name, stage, m.Files, o.Events, r); err != nil {
		return r, err
	}
	if err := verify(ctx, c, facts, s.Verify, m, o.Events, r); err != nil {
		return r, err
	}
	if !o.Keep {
		if err := stage.remove(ctx); err != nil {
			o.Events.warn("staging directory is left behind", "path", r.Staging, "error", err)
		}
	}
	r.Elapsed = time.Since(start)
	return r, nil
}

// verify runs the verification that a spec asks for.
func verify(ctx context.Context, c *loader.Cluster, facts *Facts, mode string, m *Manifest, e Events, r *Result) (err error) {
	switch mode {
	case "full":
		e.phase("verify")
		r.Verify, err = verifyFull(ctx, c, facts, m)
	case "sample":
		e.phase("verify")
		r.Verify, err = verifySample(ctx, c, facts, m)
	default:
		r.Verify = &Verification{Mode: "off", Want: m.Digest}
	}
	return err
}

// staging is a job's own directory on the cluster's file system.
type staging struct {
	out      Output
	location hdfsio.Location
}

// openStaging makes the directory of a job. Region servers move files out of
// it as the caller, so every directory lets the others pass, the one of the
// files lets them write, and the name cannot be guessed.
func openStaging(ctx context.Context, env *Env, dir, table string, timestamp int64) (*staging, error) {
	user, err := env.Conf.User()
	if err != nil {
		return nil, fail(KindConfig, err)
	}
	if dir == "" {
		dir = "hdfs:///tmp/bulkload-" + user
	} else if strings.HasPrefix(dir, "/") {
		dir = "hdfs://" + dir
	}
	l, err := env.Conf.Resolve(dir)
	if err != nil {
		return nil, fail(KindConfig, err)
	}
	if l.Local() {
		return nil, failf(KindConfig, "staging directory %s is local: HBase loads from HDFS", dir)
	}
	fsys, err := env.FS(l)
	if err != nil {
		return nil, err
	}
	var random [8]byte
	if _, err := rand.Read(random[:]); err != nil {
		return nil, err
	}
	name := fmt.Sprintf("%s-%d-%s", strings.ReplaceAll(table, ":", "_"), timestamp, hex.EncodeToString(random[:]))
	if err := fsys.MkdirAll(ctx, l.Path, 0o711); err != nil {
		return nil, fail(KindHDFS, fmt.Errorf("staging directory: %w (name one that %s may write with --staging)", err, user))
	}
	st := &staging{location: l.Join(name)}
	if err := fsys.MkdirAll(ctx, st.location.Path, 0o711); err != nil {
		return nil, fail(KindHDFS, fmt.Errorf("staging directory: %w (name one that %s may write with --staging)", err, user))
	}
	if err := fsys.Chmod(ctx, st.location.Path, 0o711); err != nil {
		return nil, fail(KindHDFS, err)
	}
	st.out = Output{FS: fsys, Dir: st.location.Path, FileMode: 0o666, DirMode: 0o777}
	return st, nil
}

// remove deletes the directory with all that is in it, also when the job was
// stopped.
func (s *staging) remove(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer cancel()
	err := s.out.FS.RemoveAll(ctx, s.location.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// loadFiles hands the files to HBase, each region's once.
func loadFiles(ctx context.Context, c *loader.Cluster, table loader.TableName, st *staging, files []File, e Events, r *Result) error {
	if len(files) == 0 {
		e.note("nothing to load: the input has no rows")
		return nil
	}
	e.phase("load")
	start := time.Now()
	req := loader.LoadRequest{Table: table, FS: st.out.FS, Events: loader.Events{
		OnLoaded: func(region loader.Region, files []loader.HFile) error {
			e.load(region.Encoded, len(files))
			return nil
		},
	}}
	for _, f := range files {
		req.Files = append(req.Files, loader.HFile{Family: f.Family, Path: st.location.Join(f.Name).URI(), First: f.FirstRow, Last: f.LastRow,
			Size: f.Bytes, Cells: f.Cells})
	}
	report, err := c.Load(ctx, req)
	r.LoadTime = time.Since(start)
	if report != nil {
		for _, region := range report.Regions {
			if region.Place == loader.PlaceStore {
				r.Regions++
			}
		}
	}
	if err != nil {
		return fail(KindLoad, fmt.Errorf("load table %s: %w\nthe HFiles are kept in %s", table, err, path.Clean(st.location.String())))
	}
	return nil
}
