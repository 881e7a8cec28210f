package job

import (
	"context"

	"bulkload/pkg/cluster"
	"bulkload/pkg/loader"
	"bulkload/pkg/manifest"
	"bulkload/pkg/progress"
	"bulkload/pkg/result"
	"bulkload/pkg/verify"
)

// The phases of a job are types, each made of the one before: what was not
// built cannot be loaded, what was not loaded cannot be verified, and what was
// not verified is not done.

// built is a job whose HFiles are all there, and whose rows add up. It is made
// by run.build, and by LoadDir of files that it has read.
type built struct {
	manifest *manifest.Manifest
	markers  []manifest.File // that are loaded with the files of the manifest
}

// loaded is a job of which HBase has taken every file. It is made by loadFiles,
// and of a journal that says so.
type loaded struct {
	manifest *manifest.Manifest
	facts    *cluster.Facts
}

// verified is a job whose table was held to its manifest, as far as the mode asks for.
type verified struct {
	verification *result.Verification
}

// verify compares the table with what was written. What is found is in the
// result, also with an error.
func (l *loaded) verify(ctx context.Context, c *loader.Cluster, mode string, e progress.Events, r *result.Result) (*verified, error) {
	if err := verify.Table(ctx, c, l.facts, mode, l.manifest, e, r); err != nil {
		return nil, err
	}
	return &verified{r.Verify}, nil
}
