package cluster

import (
	"fmt"
	"os"

	"bulkload/internal/model/fail"
	"bulkload/pkg/hdfsio"
)

// Other is the world of another cluster, whose configuration is in a directory: the same user, login and object stores. The caller
// closes it.
func (e *Env) Other(conf string) (*Env, error) {
	env := e.Conf.Env
	if env == nil {
		env = os.LookupEnv
	}
	c, err := hdfsio.LoadConf(func(name string) (string, bool) {
		if name == "HADOOP_CONF_DIR" || name == "HBASE_CONF_DIR" {
			return conf, true
		}
		return env(name)
	})
	if info, e := os.Stat(conf); e != nil {
		err = fmt.Errorf("configuration of the other cluster: %w", e)
	} else if !info.IsDir() {
		err = fmt.Errorf("configuration of the other cluster: %s is not a directory", conf)
	} else if err == nil && len(c.Files()) == 0 {
		err = fmt.Errorf("directory %s has no configuration: core-site.xml, hdfs-site.xml and hbase-site.xml of the other cluster are needed", conf)
	}
	if err != nil {
		return nil, fail.With(fail.Config, err)
	}
	return &Env{Conf: c, Log: e.Log, Identity: e.Identity, Endpoints: e.Endpoints}, nil
}
