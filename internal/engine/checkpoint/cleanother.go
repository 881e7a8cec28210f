package checkpoint

import (
	"context"
	"slices"

	"bulkload/pkg/loader"
	"bulkload/pkg/setting"
)

// inHBase reports whether a resource is in HBase, on the job's cluster.
func (r Resource) inHBase() bool {
	switch r.Kind {
	case ResourceSnapshot:
		return r.snapshot.Conf == ""
	case ResourceQuiet, ResourceOffline, ResourcePrepared:
		return true
	}
	return false
}

// clusterID returns the id of the job's cluster, empty if the journal does not have it.
func (h *History) clusterID() string {
	switch {
	case h.Plan != nil && h.Plan.Made != nil:
		return h.Plan.Made.Cluster
	case h.Fresh != nil && h.Fresh.Old != nil:
		return h.Fresh.Old.Cluster
	}
	for _, r := range h.OwnSnapshots { // of a job that loads nothing, or has no plan yet
		if r.Cluster != "" {
			return r.Cluster
		}
	}
	return ""
}

// elsewhere reports whether a job has left something in HBase on another cluster than that of the configuration, which may have a table of the same
// name. Such a job is kept; with Force its state is removed, and what it has left there stays.
func (c *cleaner) elsewhere(ctx context.Context, left *Leftover, trace *Trace) (bool, error) {
	id := trace.clusterID()
	if !left.Remove || id == "" || !slices.ContainsFunc(trace.Resources(), Resource.inHBase) {
		return false, nil
	}
	if c.id == "" {
		err := withCluster(ctx, c.env, func(ctx context.Context, hbase *loader.Cluster) (err error) {
			c.id, err = hbase.ID(ctx)
			return err
		}, 1)
		if err != nil && c.options.Remove {
			left.Remove, left.Because = false, setting.Plain("it was not removed")
			return false, err
		}
		if err != nil {
			return false, nil // it is only listed
		}
	}
	if id == c.id {
		return false, nil
	}
	if !c.options.Force {
		left.Remove, left.Because = false, setting.Textf("its table is on another cluster of HBase: run clean with the configuration of that cluster (%s removes only the state)", setting.Force)
	}
	return true, nil
}
