package staging

import (
	"context"
	"fmt"

	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/fail"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/setting"
)

// ZoneError reports that the staging directory and HBase's root directory are not in the same encryption zone, or that only one of them is in
// a zone: HDFS cannot move files between zones, nor into or out of one.
type ZoneError struct {
	Root     string // HBase's directory
	RootZone string // its zone; empty: none
	Zone     string // of the staging directory; empty: none
}

func (e *ZoneError) Error() string {
	if e.RootZone == "" {
		return fmt.Sprintf("the staging directory is in the encryption zone %s, from which files cannot move into HBase's directory", e.Zone)
	}
	return fmt.Sprintf("HBase's directory %s is in the encryption zone %s and the staging directory is not: HDFS cannot move files into it", e.Root, e.RootZone)
}

// checkZone refuses a base that is not in the zone of HBase's root directory, if that directory is known.
func checkZone(ctx context.Context, env *cluster.Env, base hdfsio.Location) error {
	fsys, err := env.FS(base)
	if err != nil {
		return err
	}
	h, ok := fsys.(*hdfsio.HDFS)
	root, err := env.Conf.Resolve(env.Conf.Value(cluster.RootDirKey))
	if !ok || err != nil || root.Path == "" || root.Authority != base.Authority {
		return nil
	}
	to, err := h.Zone(ctx, root.Path)
	if err != nil {
		return fail.With(fail.HDFS, err)
	}
	from, err := h.Zone(ctx, base.Path)
	if err != nil || from.Root == to.Root {
		return fail.With(fail.HDFS, err)
	}
	return fail.With(fail.Check, setting.Errorf("%w: leave %s out, or name a directory in the same zone", &ZoneError{root.Path, to.Root, from.Root}, setting.Staging))
}
