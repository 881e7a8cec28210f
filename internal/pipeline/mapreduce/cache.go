package mapreduce

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/fail"
)

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
