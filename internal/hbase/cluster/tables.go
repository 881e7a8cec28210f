package cluster

import (
	"cmp"
	"fmt"
	"net/url"
	"strings"

	"bulkload/internal/model/fail"
	"bulkload/internal/objectstore"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/loader"
	"bulkload/pkg/source"
)

// Schemes of inputs that are tables.
const (
	TableScheme    = "hbase:"    // [NAMESPACE:]TABLE
	SnapshotScheme = "snapshot:" // the snapshot's name
)

// IsTable reports whether an input names a table or a snapshot rather than a file. A file
// whose name begins with one of these schemes must be given with a leading ./.
func IsTable(input string) bool {
	return strings.HasPrefix(input, TableScheme) || strings.HasPrefix(input, SnapshotScheme)
}

// mount is a table shown as a directory.
type mount struct {
	fsys source.FS
	dir  string
}

// Mount makes [Env.Source] resolve an input that is a table to a directory of fsys. A
// later call for the same input replaces the directory.
func (e *Env) Mount(input string, fsys source.FS, dir string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.mounts == nil {
		e.mounts = make(map[string]mount)
	}
	e.mounts[input] = mount{fsys, dir}
}

// Mounted reports whether an input is a table that was mounted.
func (e *Env) Mounted(input string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.mounts[input].fsys != nil
}

func (e *Env) mounted(input string) (source.FS, string, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if m := e.mounts[input]; m.fsys != nil {
		return m.fsys, m.dir, nil
	}
	return nil, "", fail.Errorf(fail.Config, "input %s: it is a table; this command reads files only (a file of that name is ./%s)", input, input)
}

// RootDirKey is the configuration key of HBase's root directory. Its value is read by [Root].
const RootDirKey = "hbase.rootdir"

// Root returns HBase's configured root directory, empty if there is none. A path without a scheme is on the default file system
// (CommonFSUtils.getRootDir, HBase 2.6), and not on this machine as those that a user enters.
func Root(conf *hdfsio.Conf) string {
	root, usual := conf.Value(RootDirKey), cmp.Or(conf.Value("fs.defaultFS"), conf.Value("fs.default.name"))
	if !strings.HasPrefix(root, "/") || usual == "" {
		return root
	}
	u, err := url.Parse(usual)
	if err != nil {
		return "hdfs://" + root // resolving it reports what is wrong with the default
	}
	return u.Scheme + "://" + u.Host + root
}

// RootDir returns HBase's configured root directory. read names the input whose files are below it; it is part of the error if no
// directory is configured, which is of kind [fail.Config].
func (e *Env) RootDir(read string) (string, error) {
	root := Root(e.Conf)
	if root == "" {
		return "", fail.Errorf(fail.Config, "%s is not configured: the files of %s are below it; set HBASE_CONF_DIR to the directory of hbase-site.xml", RootDirKey, read)
	}
	return root, nil
}

// Place returns the canonical name of an input.
func (e *Env) Place(input string) (string, error) {
	if name, ok := strings.CutPrefix(input, TableScheme); ok {
		table, err := loader.ParseTableName(name)
		if err != nil {
			return "", fail.With(fail.Config, fmt.Errorf("input %s: %w", input, err))
		}
		return TableScheme + table.String(), nil
	}
	if IsTable(input) {
		return input, nil
	}
	if objectstore.IsName(input) {
		p, err := objectstore.Parse(input)
		return p.String(), fail.With(fail.Config, err)
	}
	l, err := e.Conf.Resolve(input)
	if err != nil {
		return "", ofInput(fail.With(fail.Config, err))
	}
	return Place(l), nil
}
