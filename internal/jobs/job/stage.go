package job

import (
	"context"

	"bulkload/internal/hbase/cluster"
	"bulkload/internal/hbase/staging"
	"bulkload/internal/pipeline/build"
	"bulkload/pkg/hdfsio"
)

// stage is a job's directory on HDFS with what writes into it.
type stage struct {
	*staging.Dir
	out build.Output
}

// openStage makes a new directory for a job.
func openStage(ctx context.Context, env *cluster.Env, dir, table string, timestamp int64) (*stage, error) {
	l, err := staging.Choose(ctx, env, dir, table, timestamp)
	if err != nil {
		return nil, err
	}
	return stageAt(ctx, env, l)
}

// stageAt makes the directory, or finds it. HBase moves files out of it, so
// they and their directories are for all users to write.
func stageAt(ctx context.Context, env *cluster.Env, l hdfsio.Location) (*stage, error) {
	d, err := staging.Make(ctx, env, l)
	if err != nil {
		return nil, err
	}
	return stageIn(d), nil
}

// stageIn is the stage of a directory that is there.
func stageIn(d *staging.Dir) *stage {
	return &stage{Dir: d, out: build.Output{FS: d.FS, Dir: d.Location.Path, FileMode: 0o666, DirMode: 0o777, Identify: true, Made: true}}
}
