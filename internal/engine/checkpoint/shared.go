package checkpoint

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"bulkload/internal/base/durable"
	"bulkload/internal/engine/history"
	"bulkload/internal/engine/journal"
	"bulkload/internal/engine/statetable"
	"bulkload/internal/engine/status"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/fail"
	"bulkload/pkg/loader"
	"bulkload/pkg/setting"
)

// sharedPrefix is the prefix of shared state: hbase:TABLE or hbase:NAMESPACE:TABLE.
const sharedPrefix = "hbase:"

// tableName is the file in a directory of jobs' state with the name of the table that the directory is a copy of.
const tableName = ".state-table"

// StateDir returns the absolute path of the directory of jobs' state for a setting, default [DefaultState]: the directory itself, or, for
// hbase:TABLE, the local copy of the table's contents. The copy is below the user's cache directory, and may be lost at any time.
func StateDir(env *cluster.Env, state string) (string, error) {
	if state == "" {
		var err error
		if state, err = status.DefaultState(); err != nil {
			return "", fail.With(fail.Config, err)
		}
	}
	name, shared := strings.CutPrefix(state, sharedPrefix)
	if !shared {
		dir, err := filepath.Abs(state)
		return dir, fail.With(fail.Config, err)
	}
	table, err := loader.ParseTableName(name)
	if err != nil {
		return "", fail.With(fail.Config, setting.Errorf("%s %s: %w", setting.State, state, err))
	}
	base, err := os.UserCacheDir()
	if err != nil { // such as a container without a home
		base = filepath.Join(os.TempDir(), fmt.Sprintf("bulkload-%d", os.Getuid()))
	}
	dir := filepath.Join(base, "bulkload", "state", table.FileName()+"-"+digestOf(env.Conf.Quorum(), table.String())[:history.StateDigits])
	err = durable.MakePrivateDir(dir)
	if err == nil {
		err = durable.ReplaceVolatile(filepath.Join(dir, tableName), []byte(table.String()+"\n"))
	}
	if err != nil {
		return "", fail.Errorf(fail.Config, "copy of the state in table %s: %w (XDG_CACHE_HOME names another directory)", table, err)
	}
	return dir, nil
}

// IsShared reports whether a directory of jobs' state is a copy of a table's contents. [Open] needs the cluster for it.
func IsShared(dir string) bool {
	s, err := sharedOf(dir)
	return s != nil || err != nil
}

// shared is the source of a directory that is a copy.
type shared struct {
	root  string // directory of all jobs' state
	table loader.TableName
	job   string // path below the root
}

// sharedOf returns the table of a directory of a job's state, or of all jobs' state; nil: the directory is not a copy.
func sharedOf(dir string) (*shared, error) {
	dir = filepath.Clean(dir)
	for root, depth := dir, 0; depth < 3; root, depth = filepath.Dir(root), depth+1 {
		b, err := os.ReadFile(filepath.Join(root, tableName))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		table, err := loader.ParseTableName(strings.TrimSpace(string(b)))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Join(root, tableName), err)
		}
		job, err := filepath.Rel(root, dir)
		return &shared{root, table, filepath.ToSlash(job)}, err
	}
	return nil, nil
}

// dialShared connects to the cluster with the state of a directory; nil: the state is not shared.
func dialShared(ctx context.Context, env *cluster.Env, dir string) (*loader.Cluster, error) {
	s, err := sharedOf(dir)
	if err != nil || s == nil {
		return nil, fail.With(fail.Config, err)
	}
	return env.Dial(ctx)
}

// Refresh updates a directory of jobs' state if it is a copy: it then has every job of the table, and no other. It skips jobs that a process of this
// machine works on.
func Refresh(ctx context.Context, env *cluster.Env, dir string) error {
	if dir == "" {
		return nil
	}
	s, err := sharedOf(dir)
	if err != nil || s == nil {
		return fail.With(fail.Config, err)
	}
	c, err := env.Dial(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	there := map[string]bool{}
	err = statetable.New(c, s.table).All(ctx, func(job string, content *statetable.Content) error {
		there[job] = true
		return s.write(filepath.Join(s.root, filepath.FromSlash(job)), content)
	})
	if err == nil {
		err = s.forget(there)
	}
	return stateFailure(err)
}

// read reads the records of a job, which another process may work on. A table that does not exist has none.
func (s *shared) read(ctx context.Context, c *loader.Cluster, job string) ([]journal.Record, error) {
	if c == nil {
		return nil, errNoCluster
	}
	content, err := statetable.New(c, s.table).Read(ctx, job)
	if errors.Is(err, loader.ErrTableNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, stateFailure(err)
	}
	return journal.Read(bytes.NewReader(textOf(content)))
}

// write makes a job's directory a copy of the table's contents, unless a process of this machine works on the job.
func (s *shared) write(dir string, c *statetable.Content) error {
	if !filepath.IsLocal(strings.TrimPrefix(dir, s.root+string(filepath.Separator))) {
		return nil // no job has this name
	}
	if worksHere(dir) {
		return nil
	}
	if err := durable.MakePrivateDir(dir); err != nil {
		return err
	}
	name := filepath.Join(dir, journal.FileName)
	if err := replaceIfOther(name, textOf(c)); err != nil {
		return err
	}
	if last := lastTime(c); !last.IsZero() { // as the journal of a job that works here, so that the newer one of two jobs is known
		if err := os.Chtimes(name, last, last); err != nil {
			return err
		}
	}
	if len(c.Live) > 0 {
		if err := replaceIfOther(filepath.Join(dir, status.LiveName), c.Live); err != nil {
			return err
		}
	}
	if c.Holder.Released {
		return os.RemoveAll(filepath.Join(dir, journal.LockName))
	}
	return replaceIfOther(filepath.Join(dir, journal.LockName), []byte(c.Holder.String()+"\n"))
}

// lastTime returns the time of the last record, zero if it cannot be read.
func lastTime(c *statetable.Content) time.Time {
	var r journal.Record
	if n := len(c.Records); n == 0 || json.Unmarshal(c.Records[n-1], &r) != nil {
		return time.Time{}
	}
	return r.Time
}

// forget removes copies of jobs that the table does not have any more.
func (s *shared) forget(there map[string]bool) error {
	list, err := os.ReadDir(s.root)
	if err != nil {
		return err
	}
	for _, d := range list {
		if dir := filepath.Join(s.root, d.Name()); status.IsJobDir(d.Name()) && !there[d.Name()] && hasJournal(dir) && !worksHere(dir) {
			if err := os.RemoveAll(dir); err != nil {
				return err
			}
		}
	}
	return nil
}

// worksHere reports whether the last owner of a job's lock is a running process of this machine.
func worksHere(dir string) bool {
	o, err := journal.LastOwner(dir)
	return err == nil && status.OwnerAlive(o, nil, time.Time{}) // without reports, which processes of other machines are known by
}
