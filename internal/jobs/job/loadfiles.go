package job

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"time"

	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/engine/history"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/hbase/staging"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/result"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/rewrite"
	"bulkload/internal/pipeline/upload"
	"bulkload/internal/pipeline/verify"
	"bulkload/pkg/keygen/rowkey"
	"bulkload/pkg/loader"
	"bulkload/pkg/setting"
)

// loadWay describes how files are loaded into HBase.
type loadWay struct {
	shared bool                 // others may have written cells with the job's timestamp: it was given, not assigned to this job
	local  bool                 // the load is not replicated to peers
	cuts   string               // path of the directory for cut or merged files; empty: that of the files
	made   *history.TableRecord // the table must match it when the load begins; nil: not compared
	copyTo *staging.Dir         // has a copy of the journal, which has to record the load before HBase is called; nil: there is no copy
}

// maxFiles returns the maximum number of files for a family of a region, by default
// the configuration's (BulkLoadHFilesTool.MAX_FILES_PER_REGION_PER_FAMILY, 2.6).
func maxFiles(env *cluster.Env, given int) int {
	if n, err := strconv.Atoi(env.Conf.Value("hbase.mapreduce.bulkload.max.hfiles.perRegion.perFamily")); err == nil && n > 0 && given == 0 {
		return n
	}
	return given
}

// loadFiles loads the files into HBase, each exactly once. Files that the journal
// knows to be loaded are not sent again; unknown outcomes are resolved.
func (j *run) loadFiles(ctx context.Context, facts *cluster.Facts, st *stage, b *built, way loadWay, r *result.Result) (*loaded, error) {
	log, e := j.job, j.options.Events
	m, rows := b.manifest, &loaded{manifest: b.manifest, facts: facts, stores: &verify.Stores{FS: st.out.FS, Root: verify.Root(j.env), Counted: log.History.Replace != nil}}
	if len(m.Files) == 0 && !log.Loading {
		e.Note("nothing to load: the input has no rows")
		return rows, nil
	}
	if !j.proven {
		if err := j.proveStaged(ctx, st, m); err != nil {
			return nil, err
		}
	}
	if err := j.checkUnchanged(ctx, way.made, facts.Name.String(), spec.FamilyNames(facts.Families), m, fail.Check); err != nil {
		return nil, err
	}
	j.copying.Wait()
	e.Phase("load")
	start := time.Now()
	rw := rewrite.New(st.out.FS, cmp.Or(way.cuts, st.out.Dir), facts.FamilyOf, m.Timestamp, log.Check)
	rw.Near, rw.Output.Policies = facts.Near, policies(facts, e)
	rw.Output.Made = way.cuts == ""
	rw.Output.Uploads, rw.Gate = st.out.Uploads, j.options.Gate
	regions := map[string]bool{}
	req := loader.LoadRequest{Table: facts.Name, FS: st.out.FS, Stage: j.options.Stage, MaxFiles: maxFiles(j.env, j.options.MaxFiles), Calls: j.options.LoadConcurrency, Gate: j.options.Gate, Token: log.Token, Events: j.hooks(ctx, way.copyTo, regions), Rewriter: rw,
		Timestamp: ownTimestamp(m), Shared: way.shared, Unreplicated: way.local, Repeatable: log.History.Undo != nil}
	if log.History.Replace != nil {
		req.Timestamp = 0 // files with delete markers have no cells of the timestamp
	}
	if !log.Loading {
		var files []loader.HFile
		for _, f := range m.Files {
			files = append(files, loader.HFile{Family: f.Family, Path: st.Location.Join(f.Name).URI(), First: f.FirstRow, Last: f.LastRow,
				Size: f.Bytes, Cells: f.Cells, FileID: f.FileID, CRC32C: f.CRC32C})
		}
		files = append(files, b.markers...)
		if err := log.Record(history.EventLoading, history.FilesRecord{Files: files}); err != nil {
			return nil, err
		}
	}
	for name, f := range log.Leaves {
		switch log.Files[name] {
		case history.FileReady:
			req.Files = append(req.Files, f)
		case history.FileSent:
			req.Files = append(req.Files, f)
			req.Unknown = append(req.Unknown, f)
		}
	}
	slices.SortFunc(req.Files, func(a, b loader.HFile) int { return slices.Compare(a.First, b.First) })
	e.Total("load", progress.Amount{Files: int64(len(req.Files))})
	_, err := j.cluster.Load(ctx, req)
	r.LoadTime = time.Since(start)
	r.Regions = len(regions)
	if err != nil {
		return nil, fail.With(fail.Load, setting.Errorf("load table %s: %w%s; the HFiles are kept in %s", facts.Name, err, undecidedHint(err, log, m, j.spec.Verify, way.cuts != ""), st.Location))
	}
	// Other files in the table have the rows of files that were cut or merged. If the
	// files belong to the caller, these must not be loaded again.
	for _, uri := range log.Replaced { // by this attempt and earlier ones
		name := pathOf(uri)
		if err := st.out.FS.Remove(ctx, name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			e.Warn("superseded HFile not removed", "path", name, "error", err)
		}
	}
	rows.stores.Files = slices.AppendSeq(rows.stores.Files, maps.Values(log.Leaves))
	return rows, nil
}

// ownTimestamp returns the timestamp of every cell of a job, 0 if columns give the
// cells' timestamps.
func ownTimestamp(m *manifest.Manifest) int64 {
	if m.Stamped {
		return 0
	}
	return m.Timestamp
}

// undecidedHint explains how a job can be finished if a file's outcome stays
// unknown: after another load with the same timestamps, existing cells are
// unchanged, and newer cells of others stay visible. Files that were moved out of
// their directory cannot be loaded again. The verification by files would take the
// files of the first load for copies: they have the same bytes.
func undecidedHint(err error, log *checkpoint.Job, m *manifest.Manifest, verify string, moved bool) setting.Text {
	if _, ok := errors.AsType[*loader.UnknownOutcomeError](err); !ok || moved || log.Log == nil || log.History.Undo != nil {
		return setting.Text{}
	}
	again := setting.Textf("%s %s %d", setting.Restart, setting.Timestamp, m.Timestamp)
	if m.Stamped || log.Plan.LoadsDir() { // files keep their timestamps
		again = setting.Textf("%s", setting.Restart)
	}
	if verify == "files" {
		again = setting.Textf("%s %s full", again, setting.Verify)
	}
	return setting.Textf("; if the outcome stays unknown, give %s, which loads all again with the same timestamps (rows deleted meanwhile come back)", again)
}

// hooks returns the events of a load, which are recorded in the journal. The journal is copied to a directory, if that is not nil, when HBase is about
// to be called. The regions that load files are added to the given ones.
func (j *run) hooks(ctx context.Context, copyTo *staging.Dir, regions map[string]bool) loader.Events {
	log, e := j.job, j.options.Events
	resolved := map[string]bool{} // files that count as loaded before they are reported with their region, if ever
	return loader.Events{
		OnPrepared: func(token string) error {
			err := log.Record(history.EventPrepared, history.TokenRecord{Token: token})
			if err == nil && copyTo != nil {
				j.copying.Go(func() { log.Publish(ctx, copyTo, e) })
			}
			return err
		},
		OnSending: func(groups []loader.Sending) error {
			s := history.SendingRecord{}
			for _, g := range groups {
				s.Groups = append(s.Groups, history.FilesRecord{Region: g.Region.Encoded, Server: g.Region.Server, Attempt: g.Attempt, Files: g.Files})
			}
			err := log.Record(history.EventSending, s)
			j.copying.Wait()
			return err
		},
		OnLoaded: func(r loader.Region, files []loader.HFile) error {
			regions[r.Encoded] = true
			if n := len(files) - countOf(files, resolved); n > 0 {
				e.Load(r.Encoded, n)
			}
			return log.Record(history.EventLoaded, history.FilesRecord{Region: r.Encoded, Files: files})
		},
		OnReturned: func(r loader.Region, files []loader.HFile, reason error) error {
			return log.Record(history.EventReturned, history.FilesRecord{Region: r.Encoded, Reason: reason.Error(), Files: files})
		},
		OnFencing: func(f loader.HFile, to string) error {
			return log.Record(history.EventFencing, history.FencingRecord{File: f, To: to})
		},
		OnFenced: func(was string, f loader.HFile) error {
			return log.Record(history.EventFenced, history.FencingRecord{File: f, From: was})
		},
		OnResolved: func(f loader.HFile, place loader.Place) error {
			e.Note("outcome of a file resolved", "file", f.Path, "place", place.String())
			if place == loader.PlaceStore {
				resolved[f.Path] = true
				e.Load("", 1)
				return log.Record(history.EventLoaded, history.FilesRecord{Files: []loader.HFile{f}})
			}
			return log.Record(history.EventReturned, history.FilesRecord{Reason: "found at its source", Files: []loader.HFile{f}})
		},
		OnCut: func(parent loader.HFile, children []loader.HFile) error {
			return log.Record(history.EventCut, history.RewrittenRecord{Parents: []loader.HFile{parent}, Children: children})
		},
		OnMerged: func(parents []loader.HFile, child loader.HFile) error {
			return log.Record(history.EventMerged, history.RewrittenRecord{Parents: parents, Children: []loader.HFile{child}})
		},
		OnRefused: func(refused *loader.RefusedError) error {
			var files []loader.HFile
			for _, f := range refused.Files {
				if f.Place == loader.PlaceSource { // others are loaded and recorded, or their outcome stays unknown
					files = append(files, f.File)
				}
			}
			if len(files) == 0 {
				return nil
			}
			return log.Record(history.EventReturned, history.FilesRecord{Region: refused.Region.Encoded, Reason: refused.Error(), Files: files})
		},
		OnUnknown: func(u *loader.UnknownOutcomeError) error {
			e.Warn("a load failed or its answer was lost, resolving the outcome of the files", "region", u.Region.Encoded, "server", u.Region.Server, "error", u.Err)
			return log.Record(history.EventUnknown, history.FilesRecord{Region: u.Region.Encoded, Server: u.Region.Server, Reason: u.Err.Error(), Files: u.Files})
		},
		OnCleaning: log.Check,
		OnCleaned: func(token string) error {
			return log.Record(history.EventCleaned, history.TokenRecord{Token: token})
		},
	}
}

// countOf returns the number of files whose paths are in a set.
func countOf(files []loader.HFile, paths map[string]bool) (n int) {
	for _, f := range files {
		if paths[f.Path] {
			n++
		}
	}
	return n
}

// pathOf returns a file's path on HDFS.
func pathOf(uri string) string {
	_, name := rewrite.SplitURI(uri)
	return name
}

// Staged are HFiles that another package has written into a staging directory, with
// that package's own journal.
type Staged struct {
	Env     *cluster.Env
	Cluster *loader.Cluster
	Facts   *cluster.Facts // current facts of the table
	Dir     *staging.Dir
	Files   []manifest.File // their cells have several timestamps, or timestamps shared with others
	Journal *checkpoint.Job
	Time    int64                // timestamp of cut or merged files, milliseconds; default now
	Proven  bool                 // every file has just been read completely
	Copied  bool                 // the directory has a copy of the journal, which has to record the load before HBase is called
	Made    *history.TableRecord // the table must match it before and after the load; nil: not compared
}

// Load loads the files into the table as [Run] does. It reads each file completely before the first is loaded, unless they have just been read, and
// records progress and unknown outcomes in the journal. After a crash the same call resumes, with the files of the journal. It fills in r. It ignores
// Verify and Staging of the options.
func (s Staged) Load(ctx context.Context, o LoadOptions, r *result.Result) error {
	j := &run{env: s.Env, options: o.RunOptions, cluster: s.Cluster, job: s.Journal, proven: s.Proven}
	st := stageIn(s.Dir)
	st.out.Uploads = upload.NewLimiter(o.Uploads)
	m := &manifest.Manifest{Timestamp: cmp.Or(s.Time, time.Now().UnixMilli()), Files: s.Files, Stamped: true}
	defer j.copying.Wait()
	way := loadWay{shared: true, local: o.Unreplicated, made: s.Made}
	if s.Copied {
		way.copyTo = s.Dir
	}
	if _, err := j.loadFiles(ctx, s.Facts, st, &built{manifest: m}, way, r); err != nil || s.Made == nil {
		return err
	}
	return j.checkUnchanged(ctx, s.Made, s.Facts.Name.String(), spec.FamilyNames(s.Facts.Families), m, fail.Verify)
}

// StagedFiles returns files of a staging directory in the form of a manifest.
func StagedFiles(files []loader.HFile) (staged []manifest.File) {
	for _, f := range files {
		staged = append(staged, manifest.File{Name: path.Join(f.Family, path.Base(f.Path)), Family: f.Family, FirstRow: rowkey.Key(f.First), LastRow: rowkey.Key(f.Last),
			Cells: f.Cells, Bytes: f.Size, CRC32C: f.CRC32C, FileID: f.FileID})
	}
	return staged
}
