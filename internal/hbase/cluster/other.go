package cluster

import (
	"fmt"
	"os"

	"bulkload/internal/model/fail"
	"bulkload/pkg/hdfsio"
)

// Keys of a client's login, as HBase's own client reads them from its configuration (AuthUtil of HBase 2.2 and later).
const (
	keyClientPrincipal = "hbase.client.keytab.principal"
	keyClientKeytab    = "hbase.client.keytab.file"
)

// Other returns the environment of another cluster, whose configuration is in a directory. It has the same user and object stores, and
// the same login unless that configuration has a client principal and a keytab. The caller closes it.
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
	other := &Env{Conf: c, Log: e.Log, Identity: e.Identity, Endpoints: e.Endpoints, Context: e.Context}
	if info, e := os.Stat(conf); e != nil {
		err = fmt.Errorf("configuration of the other cluster: %w", e)
	} else if !info.IsDir() {
		err = fmt.Errorf("configuration of the other cluster: %s is not a directory", conf)
	} else if err == nil && len(c.Files()) == 0 {
		err = fmt.Errorf("directory %s has no configuration: core-site.xml, hdfs-site.xml and hbase-site.xml of the other cluster are needed", conf)
	} else if err == nil {
		err = other.takeIdentity()
	}
	if err != nil {
		return nil, fail.With(fail.Config, err)
	}
	return other, nil
}

// takeIdentity takes the login from the configuration, if it has one.
func (e *Env) takeIdentity() error {
	i := Identity{Principal: e.Conf.Value(keyClientPrincipal), Keytab: e.Conf.Value(keyClientKeytab)}
	switch {
	case i == Identity{}:
	case i.Keytab == "":
		return fmt.Errorf("%s lacks %s: a login needs both", origin(e.Conf, keyClientPrincipal), keyClientKeytab)
	case i.Principal == "":
		return fmt.Errorf("%s lacks %s: a login needs both", origin(e.Conf, keyClientKeytab), keyClientPrincipal)
	default:
		e.Identity = i
	}
	return nil
}
