package job

import (
	"context"
	"path"
	"time"

	"bulkload/pkg/checkpoint"
	"bulkload/pkg/cluster"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/loader"
	"bulkload/pkg/manifest"
	"bulkload/pkg/result"
	"bulkload/pkg/rowkey"
	"bulkload/pkg/upload"
)

// LoadStaged loads files that lie in a directory on HDFS as a job's own do, each
// step recorded in log before it is taken: the same call after a crash resumes
// the load. Cells have no timestamp that only they have, so nobody asks the table for them.
func LoadStaged(ctx context.Context, env *cluster.Env, c *loader.Cluster, facts *cluster.Facts, dir hdfsio.Location, files []loader.HFile, log *checkpoint.Job, o LoadOptions) (*result.Result, error) {
	st, err := stageAt(ctx, env, dir)
	if err != nil {
		return nil, err
	}
	st.out.Uploads = upload.NewLimiter(o.Uploads)
	m := &manifest.Manifest{Timestamp: time.Now().UnixMilli(), Files: stagedFiles(files), Stamped: true}
	r := &result.Result{Schema: 1, Table: facts.Name.String(), Staging: dir.String()}
	way := loadWay{stage: o.Stage, maxFiles: maxFiles(env, o.MaxFiles), calls: o.LoadConcurrency, gate: o.Gate, shared: true, local: o.Unreplicated}
	_, err = loadFiles(ctx, c, facts, st, &built{manifest: m}, way, log, o.Events, r)
	return r, err
}

// stagedFiles are files of a staging directory as a manifest has them.
func stagedFiles(files []loader.HFile) (staged []manifest.File) {
	for _, f := range files {
		staged = append(staged, manifest.File{Name: path.Join(f.Family, path.Base(f.Path)), Family: f.Family, FirstRow: rowkey.Key(f.First), LastRow: rowkey.Key(f.Last),
			Cells: f.Cells, Bytes: f.Size, CRC32C: f.CRC32C, FileID: f.FileID})
	}
	return staged
}
