package mapreduce

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"bulkload/internal/hadoop/yarn"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/fail"
	"bulkload/pkg/hdfsio"
)

// connect returns a client of YARN's servers, located by the configuration of Hadoop's client.
func connect(env *cluster.Env) (*yarn.Client, error) {
	conf, err := yarnConf(env.Conf)
	if err != nil {
		return nil, fail.With(fail.Config, err)
	}
	o := yarn.Options{}
	if o.Addresses, err = yarn.FromConf(conf.Value); err != nil {
		return nil, fail.With(fail.Config, fmt.Errorf("YARN is not known: %w", err))
	}
	if slices.ContainsFunc(slices.Concat(o.ResourceManagers, []string{o.History}), func(a string) bool { return strings.HasPrefix(a, "https:") }) {
		if o.TLS, err = env.WebTLS(); err != nil {
			return nil, fail.With(fail.Config, fmt.Errorf("YARN has TLS: %w", err))
		}
	}
	if conf.Kerberos(hdfsio.HadoopAuthentication) {
		login, err := env.Login()
		if err != nil {
			return nil, err
		}
		if err := o.Secure(login, conf.Value); err != nil {
			return nil, fail.With(fail.Config, err)
		}
	} else if o.User, err = conf.User(); err != nil {
		return nil, fail.With(fail.Config, err)
	}
	c, err := yarn.New(o)
	return c, fail.With(fail.Config, err)
}

// yarnConf reads the files of YARN and MapReduce in addition to the base configuration.
func yarnConf(base *hdfsio.Conf) (*hdfsio.Conf, error) {
	lookup := base.Env
	if lookup == nil {
		lookup = os.LookupEnv
	}
	conf := &hdfsio.Conf{Env: base.Env}
	seen := map[string]bool{}
	for _, name := range []string{"HADOOP_CONF_DIR", "YARN_CONF_DIR"} {
		dir, ok := lookup(name)
		if !ok || dir == "" || seen[filepath.Clean(dir)] {
			continue
		}
		seen[filepath.Clean(dir)] = true
		for _, file := range []string{"core-site.xml", "yarn-site.xml", "mapred-site.xml"} {
			if err := conf.ReadFile(filepath.Join(dir, file)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, err
			}
		}
	}
	if len(seen) == 0 {
		return nil, errors.New("set HADOOP_CONF_DIR to the directory with core-site.xml, yarn-site.xml and mapred-site.xml")
	}
	return conf, nil
}

// clientCache returns the name of the ticket cache for Hadoop's client, empty for its default. For a keytab, which is not passed on, it
// creates a cache that only the user can read, and that release removes.
func clientCache(env *cluster.Env) (name string, release func(), err error) {
	release = func() {}
	if env.Identity.Keytab == "" {
		if name = env.Identity.Cache; name != "" && !strings.Contains(name, ":") {
			name = "FILE:" + name
		}
		return name, release, nil
	}
	login, err := env.Login()
	if err != nil {
		return "", release, err
	}
	dir, err := os.MkdirTemp("", "bulkload-tickets-*") // mode 0700
	if err != nil {
		return "", release, fail.With(fail.HDFS, err)
	}
	release = func() { os.RemoveAll(dir) }
	file := filepath.Join(dir, "ccache")
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		err = errors.Join(login.WriteCache(f), f.Close())
	}
	if err != nil {
		release()
		return "", func() {}, fail.With(fail.HDFS, err)
	}
	return "FILE:" + file, release, nil
}
