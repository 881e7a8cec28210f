package cluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"bulkload/internal/model/fail"
	"bulkload/internal/model/spec"
	"bulkload/internal/objectstore"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/kerberos"
	"bulkload/pkg/loader"
	"bulkload/pkg/setting"
	"bulkload/pkg/source"
)

// Env is the environment of a job: Hadoop's configuration and the file systems
// and clusters that it names. They are opened when they are first needed. An
// Env is safe for concurrent use.
type Env struct {
	Conf     *hdfsio.Conf
	Log      *slog.Logger
	Identity Identity // on secured clusters
	// Tokens are delegation tokens of file systems. If there are any, there is no login: a container has only tokens.
	Tokens []*kerberos.Token
	// Endpoints are the addresses of object stores, see [objectstore.ParseEndpoints]. Default: the providers' addresses.
	Endpoints []string
	// Context ends the wait for a first login, which methods without a context may need. Default: none.
	Context context.Context

	mu   sync.Mutex
	hdfs map[string]*hdfsio.HDFS // by addresses

	objects *objectstore.Stores // opened when the first object store is named

	mounts map[string]mount // mounted tables, by the input that names them

	secrets secrets
}

// Resolve returns the file system of a path that a user entered, and the
// absolute name on that file system.
func (e *Env) Resolve(name string) (hdfsio.FS, string, error) {
	l, err := e.Conf.Resolve(name)
	if err != nil {
		return nil, "", fail.With(fail.Config, err)
	}
	fsys, err := e.FS(l)
	return fsys, l.Path, err
}

// FS returns the file system of a location.
func (e *Env) FS(l hdfsio.Location) (hdfsio.FS, error) {
	if l.Local() {
		return hdfsio.Local{}, nil
	}
	key := strings.Join(l.Addresses, ",")
	e.mu.Lock()
	defer e.mu.Unlock()
	if h, ok := e.hdfs[key]; ok {
		return h, nil
	}
	o, err := e.Conf.HDFSOptions(l, e.Log)
	if err != nil {
		return nil, fail.With(fail.Config, err)
	}
	if err := e.secureHDFS(l, &o); err != nil {
		return nil, err
	}
	e.secureKeys(&o.Keys)
	h, err := hdfsio.NewHDFS(o)
	if err != nil {
		return nil, fail.With(fail.Config, err)
	}
	if e.hdfs == nil {
		e.hdfs = make(map[string]*hdfsio.HDFS)
	}
	e.hdfs[key] = h
	return h, nil
}

// RootZone returns the encryption zone of HBase's root directory. It returns "" if the directory is in no zone, is not known, or is
// not on the default file system.
func (e *Env) RootZone(ctx context.Context) (string, error) {
	root, err := e.Conf.Resolve(Root(e.Conf))
	if err != nil || root.Path == "" || root.Local() {
		return "", nil
	}
	if usual, err := e.Conf.Resolve("hdfs:///"); err != nil || !SameAddress(usual, root) {
		return "", nil
	}
	fsys, err := e.FS(root)
	if err != nil {
		return "", err
	}
	zone, err := fsys.(*hdfsio.HDFS).Zone(ctx, root.Path)
	return zone.Root, fail.With(fail.HDFS, err)
}

// Source resolves an input as [Env.Resolve] does. Inputs that are tables must have been mounted.
func (e *Env) Source(name string) (source.FS, string, error) {
	if IsTable(name) {
		return e.mounted(name)
	}
	if objectstore.IsName(name) {
		fsys, p, err := e.stores().Open(name)
		if err != nil {
			return nil, "", fail.With(fail.Config, err)
		}
		return fsys, p, nil
	}
	fsys, p, err := e.Resolve(name)
	return fsys, p, ofInput(err)
}

// ofInput names the object stores too in an error about a scheme, since only inputs can be in them.
func ofInput(err error) error {
	if s, ok := errors.AsType[*hdfsio.SchemeError](err); ok {
		return fail.Errorf(fail.Config, "input %s: %s:// is not supported: give a local path, or one of hdfs://, s3://, gs://, abfs://, oss:// and obs://", s.Name, s.Scheme)
	}
	return err
}

// stores returns the object stores. Only inputs are read from them.
func (e *Env) stores() *objectstore.Stores {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.objects == nil {
		e.objects = &objectstore.Stores{Endpoints: e.Endpoints, Conf: e.Conf.Value, Log: e.Log}
	}
	return e.objects
}

// ShipStores returns the secret with which another process can read those inputs that are in object stores, nil if there are none.
func (e *Env) ShipStores(ctx context.Context, inputs []string) ([]byte, error) {
	inputs = slices.DeleteFunc(slices.Clone(inputs), func(name string) bool { return !objectstore.IsName(name) })
	if len(inputs) == 0 {
		return nil, nil
	}
	secret, err := e.stores().Ship(ctx, inputs)
	kind := fail.Config
	if _, ok := errors.AsType[*objectstore.OutOfReachError](err); ok {
		kind = fail.HDFS
	}
	return secret, fail.With(kind, err)
}

// TakeStores configures the object stores from a secret that another process obtained with [Env.ShipStores].
func (e *Env) TakeStores(secret []byte) error { return fail.With(fail.Config, e.stores().Take(secret)) }

// Places returns, for each input, a function that converts an absolute name on
// the input's file system to the file's canonical name.
func (e *Env) Places(inputs []string) ([]func(name string) string, error) {
	all := make([]func(string) string, len(inputs))
	for i, input := range inputs {
		if IsTable(input) {
			place, err := e.Place(input)
			if err != nil {
				return nil, err
			}
			all[i] = func(name string) string { return place + "/" + path.Base(name) }
			continue
		}
		if objectstore.IsName(input) {
			p, err := objectstore.Parse(input)
			if err != nil {
				return nil, fail.With(fail.Config, err)
			}
			all[i] = func(name string) string { return p.Root() + name }
			continue
		}
		l, err := e.Conf.Resolve(input)
		if err != nil {
			return nil, ofInput(fail.With(fail.Config, err))
		}
		all[i] = func(name string) string {
			l.Path = name
			return Place(l)
		}
	}
	return all, nil
}

// Close closes all connections, cancels the delegation tokens that were issued to the environment, and ends its login.
func (e *Env) Close() error {
	e.closeSecrets()
	e.stores().Close()
	var errs []error
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, h := range e.hdfs {
		errs = append(errs, h.Close())
	}
	e.hdfs = nil
	return errors.Join(errs...)
}

// Rest closes idle connections. It is meant for jobs that wait for a long time.
func (e *Env) Rest() {
	e.mu.Lock()
	open := slices.Collect(maps.Values(e.hdfs))
	e.mu.Unlock()
	for _, h := range open {
		h.Rest()
	}
	e.stores().Rest()
}

// TableName returns the name of a spec's table. Paths are built
// only from names that were validated here.
func TableName(s spec.Job) (loader.TableName, error) {
	if s.Table == "" {
		return loader.TableName{}, fail.Errorf(fail.Config, "no table: give %s, or table in the job file", setting.Table)
	}
	name, err := loader.ParseTableName(s.Table)
	return name, fail.With(fail.Config, err)
}

// errNoCluster returns an error that explains how to configure the cluster.
func errNoCluster(what string) error {
	return fail.With(fail.Config, setting.Errorf("%s is unknown: set HBASE_CONF_DIR and HADOOP_CONF_DIR to the cluster's configuration, or give %s and %s", what, setting.Zookeeper, setting.HDFS))
}

// Place returns the canonical name of a location.
func Place(l hdfsio.Location) string {
	if l.Local() {
		return l.Path
	}
	name, _ := authority(l)
	return l.Scheme + "://" + name + l.Path
}

// Absent adds advice to the error of a name that does not exist: the file system where it was looked for, and how names on other file
// systems begin.
func Absent(l hdfsio.Location, err error) error {
	switch {
	case !errors.Is(err, fs.ErrNotExist):
		return err
	case l.Local():
		return fmt.Errorf("%w on this machine; a name of HDFS begins with hdfs://", err)
	}
	return fmt.Errorf("%w on hdfs://%s; a name of this machine begins with file:// or /", err, l.Authority)
}
