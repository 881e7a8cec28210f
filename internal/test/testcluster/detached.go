package testcluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// Up starts a detached cluster in o.Dir, or attaches to the one that runs there; started reports which of the two it
// did. Concurrent calls of two processes for one directory get the same cluster.
func Up(ctx context.Context, o Options) (c *Cluster, started bool, err error) {
	o.Detached = true
	if err := o.Validate(); err != nil {
		return nil, false, err
	}
	unlock, err := lockDir(ctx, o.Dir)
	if err != nil {
		return nil, false, err
	}
	defer unlock()
	s, err := readState(o.Dir)
	switch {
	case errors.Is(err, ErrNoCluster):
	case err != nil:
		return nil, false, err
	default:
		running := s.running()
		if want := o.Security.withDefaults(); len(running) > 0 && s.Security != want {
			return nil, false, fmt.Errorf("the test cluster in %s runs with %s, not with %s: take it down first", o.Dir, s.Security.describe(), want.describe())
		}
		if want := cmp.Or(o.HBase, defaultHBase()); len(running) > 0 && s.HBase != want {
			return nil, false, fmt.Errorf("the test cluster in %s runs HBase %s, not %s: take it down first", o.Dir, s.HBase, want)
		}
		if len(running) > 0 && o.YARN && s.Ports.YARN == nil {
			return nil, false, fmt.Errorf("the test cluster in %s runs without YARN: take it down first", o.Dir)
		}
		if len(running) == len(s.Roles) {
			c, err := Attach(ctx, layout{o.Dir}.conf())
			if err != nil {
				return nil, false, err
			}
			if err := c.WaitReady(ctx); err != nil {
				c.Close()
				return nil, false, err
			}
			return c, false, nil
		}
		if len(running) > 0 {
			dead := slices.DeleteFunc(slices.Clone(s.Roles), func(r Role) bool { return slices.Contains(running, r) })
			return nil, false, fmt.Errorf("the test cluster in %s runs without its %v: restart that or take it down", o.Dir, dead)
		}
	}
	c, err = Start(ctx, o)
	return c, err == nil, err
}

// Down stops the cluster in dir and removes its data; the logs stay. If there is no cluster, that is not an error.
func Down(ctx context.Context, dir string) error {
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	unlock, err := lockDir(ctx, dir)
	if err != nil {
		return err
	}
	defer unlock()
	s, err := readState(dir)
	if errors.Is(err, ErrNoCluster) {
		return nil
	}
	if err != nil {
		return err
	}
	// Not by Attach: it must also work on a machine whose JDK was removed.
	l := layout{dir}
	if err := s.end(ctx); err != nil {
		return fmt.Errorf("stop the test cluster in %s: %w", dir, err)
	}
	for _, path := range l.discarded() {
		err = errors.Join(err, os.RemoveAll(path))
	}
	return errors.Join(err, os.Remove(l.state()))
}

func lockDir(ctx context.Context, dir string) (unlock func(), err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	return lockFile(ctx, filepath.Join(dir, "lock"))
}

// Environment returns the variables that a shell needs to work with the cluster, as NAME=value.
func (c *Cluster) Environment() []string {
	env := []string{
		"HADOOP_CONF_DIR=" + c.ConfDir(),
		"HBASE_CONF_DIR=" + c.ConfDir(),
		"HBASE_LIB=" + c.LibDir(),
		EnvConf + "=" + c.ConfDir(),
	}
	if c.hasYARN() {
		env = append(env, "HADOOP_HOME="+c.HadoopHome())
	}
	if c.state.Security.Kerberos {
		env = append(env,
			"KRB5_CONFIG="+c.Krb5Conf(),
			"KRB5CCNAME=FILE:"+filepath.Join(c.layout.kdc(), "ccache"),
			"BULKLOAD_PRINCIPAL="+Principal(Loader),
			"BULKLOAD_KEYTAB="+c.Keytab(Loader),
			"CLUSTER_KEYTABS="+c.layout.kdc())
	}
	return env
}

// Unset returns the variables that must not be set in a shell that works with the cluster.
func (c *Cluster) Unset() []string {
	if c.state.Security.Kerberos {
		return []string{"HADOOP_USER_NAME"}
	}
	return nil
}
