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
// name. Such a job is kept; with Force all but what it has left there is removed.
func (c *cleaner) elsewhere(ctx context.Context, left *Leftover, trace *Trace) (bool, error) {
	id := trace.clusterID()
	if !left.Remove || id == "" || !slices.ContainsFunc(trace.Resources(), Resource.inHBase) {
		return false, nil
	}
	if c.id == "" && c.idErr == nil {
		c.idErr = withCluster(ctx, c.env, func(ctx context.Context, hbase *loader.Cluster) (err error) {
			c.id, err = hbase.ID(ctx)
			return err
		}, 1)
	}
	switch {
	case c.idErr != nil && c.options.Remove:
		left.Remove, left.Because = false, setting.Plain("it was not removed")
		return false, c.idErr
	case c.idErr != nil || id == c.id: // with an error it is only listed
		return false, nil
	case c.options.Force:
	case c.shared != nil:
		left.Remove, left.Because = false, setting.Textf("it has left something on another cluster of HBase: give its command again (%s removes all but that)", setting.Force)
	default:
		left.Remove, left.Because = false, setting.Textf("its table is on another cluster of HBase: run clean with the configuration of that cluster (%s removes the rest)", setting.Force)
	}
	return true, nil
}
