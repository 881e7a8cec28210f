package checkpoint

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"slices"
	"strings"

	"bulkload/internal/engine/history"
	"bulkload/internal/engine/status"
	"bulkload/internal/model/fail"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/loader"
	"bulkload/pkg/setting"
)

// fs returns the file system of a location. For one that did not answer before, it returns that error: each is asked once, not once for each job.
func (c *cleaner) fs(l hdfsio.Location) (hdfsio.FS, error) {
	if err := c.silent[fsKey(l)]; err != nil {
		return nil, err
	}
	return c.env.FS(l)
}

// heard notes the error of a request to the file system of a location, if it means that the file system does not answer.
func (c *cleaner) heard(ctx context.Context, l hdfsio.Location, err error) {
	if !unanswered(err) || ctx.Err() != nil {
		return
	}
	if e, ok := errors.AsType[*hdfsio.UnmetError](err); ok {
		err = e
	} else if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = e.Err // other paths have the error, too
	}
	if c.silent == nil {
		c.silent = map[string]error{}
	}
	c.silent[fsKey(l)] = err
}

func fsKey(l hdfsio.Location) string { return strings.Join(l.Addresses, ",") }

// unanswered reports whether an error means that a file system does not answer, or is not in service.
func unanswered(err error) bool {
	_, connection := errors.AsType[*net.OpError](err)
	return connection || hdfsio.Unavailable(err)
}

// look returns the content of a directory, see [lookAround], and its file system.
func (c *cleaner) look(ctx context.Context, l hdfsio.Location) (hdfsio.FS, *environment, error) {
	fsys, err := c.fs(l)
	if err != nil {
		return nil, nil, err
	}
	seen, err := lookAround(ctx, fsys, l.Path)
	c.heard(ctx, l, err)
	return fsys, seen, err
}

// leave decides about a job with a directory that cannot be looked at, and may exist: the state that names it is kept. With Force the state is removed,
// and the reason says where something may be left.
func (c *cleaner) leave(ctx context.Context, job *Leftover, uri string, err error) error {
	err = unadvised(err)
	switch {
	case !job.Remove:
		return fail.Errorf(fail.HDFS, "%s cannot be looked at: %w", uri, err)
	case c.options.Force && ctx.Err() == nil:
		job.Because = setting.Textf("%s; %s may be left: %v", job.Because, uri, err)
		return nil
	}
	job.Remove, job.Because = false, setting.Textf("its directory %s may be left: run clean again when HDFS answers (%s removes the state without it)", uri, setting.Force)
	return fail.Errorf(fail.HDFS, "%s cannot be looked at: %w (%s removes the state without it)", uri, err, setting.Force)
}

// unadvised returns an error without advice about the setting of an address: the address is the journal's.
func unadvised(err error) error {
	if e, ok := errors.AsType[*hdfsio.UnmetError](err); ok {
		return e.Err
	}
	return err
}

// removeOutput removes an incomplete export, or the directory of cut and merged files, of a job that is removed.
func (c *cleaner) removeOutput(ctx context.Context, job *Leftover, r history.Resource) error {
	l, err := c.env.Conf.Resolve(r.Name)
	if err != nil {
		return c.leave(ctx, job, r.Name, err)
	}
	fsys, err := c.fs(l)
	switch {
	case err != nil:
	case r.Kind == history.ResourceExport:
		err = removeExport(ctx, c.env, r.Name, r.Token)
	default:
		err = fsys.RemoveAll(ctx, l.Path)
	}
	if err == nil {
		return nil
	}
	c.heard(ctx, l, err)
	return c.leave(ctx, job, r.Name, err)
}

// onCluster returns a cleaner for what a job has left on a cluster, given by its configuration directory, and a function that ends it. It is c itself for
// the own cluster, and where that directory is not a configuration, such as on another machine.
func (c *cleaner) onCluster(conf string) (_ *cleaner, end func() error) {
	if conf != "" {
		if env, err := c.env.Other(conf); err == nil {
			there := *c
			there.env, there.id, there.idErr = env, "", nil
			return &there, env.Close
		}
	}
	return c, func() error { return nil }
}

// elsewhere reports whether a job has left something in HBase on another cluster than that of the configuration, which may have a table of the same
// name. Such a job is kept; with Force all but what it has left there is removed.
func (c *cleaner) elsewhere(ctx context.Context, left *Leftover, trace *status.Trace) (bool, error) {
	id := trace.ClusterID()
	if !left.Remove || id == "" || !slices.ContainsFunc(trace.Resources(), history.Resource.InHBase) {
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
