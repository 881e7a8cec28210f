package job

import (
	"cmp"
	"context"
	"path"
	"time"

	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/hbase/staging"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/result"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/upload"
	"bulkload/pkg/keygen/rowkey"
	"bulkload/pkg/loader"
)

// Staged are HFiles that another package has written into a staging directory, with
// that package's own journal.
type Staged struct {
	Env     *cluster.Env
	Cluster *loader.Cluster
	Facts   *cluster.Facts // current facts of the table
	Dir     *staging.Dir
	Files   []manifest.File // their cells have several timestamps, or timestamps shared with others
	Journal *checkpoint.Job
	Time    int64                   // timestamp of cut or merged files, milliseconds; default now
	Proven  bool                    // every file has just been read completely
	Copied  bool                    // the directory has a copy of the journal, which has to record the load before HBase is called
	Made    *checkpoint.TableRecord // the table must match it before and after the load; nil: not compared
}

// Load loads the files into the table as [Run] does. It reads each file completely before the first is loaded, unless they have just been read, and
// records progress and unknown outcomes in the journal. After a crash the same call resumes, with the files of the journal. It fills in r. It ignores
// Verify and Staging of the options.
func (s Staged) Load(ctx context.Context, o LoadOptions, r *result.Result) error {
	j := &run{env: s.Env, options: o.RunOptions, cluster: s.Cluster, job: s.Journal, proven: s.Proven}
	if s.Made != nil {
		if err := j.recreated(ctx, s.Made, s.Facts, fail.Check); err != nil {
			return err
		}
	}
	st := stageIn(s.Dir)
	st.out.Uploads = upload.NewLimiter(o.Uploads)
	m := &manifest.Manifest{Timestamp: cmp.Or(s.Time, time.Now().UnixMilli()), Files: s.Files, Stamped: true}
	defer j.copying.Wait()
	way := loadWay{shared: true, local: o.Unreplicated}
	if s.Copied {
		way.copyTo = s.Dir
	}
	if _, err := j.loadFiles(ctx, s.Facts, st, &built{manifest: m}, way, r); err != nil || s.Made == nil {
		return err
	}
	return j.checkUnchanged(ctx, s.Made, s.Facts.Name.String(), spec.FamilyNames(s.Facts.Families), m)
}

// StagedFiles returns files of a staging directory in the form of a manifest.
func StagedFiles(files []loader.HFile) (staged []manifest.File) {
	for _, f := range files {
		staged = append(staged, manifest.File{Name: path.Join(f.Family, path.Base(f.Path)), Family: f.Family, FirstRow: rowkey.Key(f.First), LastRow: rowkey.Key(f.Last),
			Cells: f.Cells, Bytes: f.Size, CRC32C: f.CRC32C, FileID: f.FileID})
	}
	return staged
}
