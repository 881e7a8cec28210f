package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"bulkload/internal/cli/settings"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/fail"
	"bulkload/internal/objectstore"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/loader"

	"github.com/spf13/pflag"
)

// clusterFlags are the flags that name the cluster where the configuration does not.
type clusterFlags struct {
	zookeeper string
	znode     string
	hdfs      string
	user      string
	identity  cluster.Identity
	endpoints []string // of object stores
}

func (c *clusterFlags) add(f *pflag.FlagSet) {
	settings.Bind(f, settings.To{
		"zookeeper": &c.zookeeper, "znode": &c.znode, "hdfs": &c.hdfs, "principal": &c.identity.Principal, "keytab": &c.identity.Keytab, "ticket-cache": &c.identity.Cache, "user": &c.user,
	})
}

// addReading registers the flags of a command that reads inputs.
func (c *clusterFlags) addReading(f *pflag.FlagSet) {
	c.add(f)
	settings.Bind(f, settings.To{"endpoint": &c.endpoints})
}

// open reads the configuration, which the flags override. The caller closes the result.
func (c *clusterFlags) open(g *globals) (*cluster.Env, error) {
	env := os.LookupEnv
	if c.user != "" {
		env = func(name string) (string, bool) {
			if name == "HADOOP_USER_NAME" {
				return c.user, true
			}
			return os.LookupEnv(name)
		}
	}
	if name, _ := os.LookupEnv("HADOOP_PROXY_USER"); name != "" { // Hadoop's clients act as that user
		return nil, fail.Usage(errors.New("HADOOP_PROXY_USER is set, and proxy users are not supported: unset it, and log in as the user that loads"))
	}
	conf, err := hdfsio.LoadConf(env)
	if err != nil {
		return nil, fail.Usage(err)
	}
	set := func(key, value, from string) {
		if value != "" {
			conf.Set(key, value, from)
		}
	}
	set("hbase.zookeeper.quorum", c.zookeeper, "--zookeeper")
	set("zookeeper.znode.parent", c.znode, "--znode")
	set("fs.defaultFS", c.hdfs, "--hdfs")
	if c.identity.Keytab != "" && c.identity.Principal == "" {
		return nil, fail.Usage(errors.New("--keytab needs --principal"))
	}
	if c.identity.Keytab != "" && c.identity.Cache != "" {
		return nil, fail.Usage(errors.New("--keytab and --ticket-cache are both given: give one of them"))
	}
	if _, err := objectstore.ParseEndpoints(c.endpoints); err != nil {
		return nil, fail.Usage(settings.AboutFlags(fmt.Errorf("--endpoint: %w", err), "endpoint"))
	}
	return &cluster.Env{Conf: conf, Log: g.Logger(), Identity: c.identity, Endpoints: c.endpoints, Context: g.Context()}, nil
}

// withEnv reads the configuration for the duration of a call.
func (c *clusterFlags) withEnv(g *globals, do func(*cluster.Env) error) error {
	env, err := c.open(g)
	if err != nil {
		return err
	}
	defer env.Close()
	return do(env)
}

// withCluster connects to HBase for the duration of a call.
func (c *clusterFlags) withCluster(ctx context.Context, g *globals, do func(*loader.Cluster) error) error {
	return c.withEnv(g, func(env *cluster.Env) error {
		cluster, err := env.Dial(ctx)
		if err != nil {
			return err
		}
		defer cluster.Close()
		return do(cluster)
	})
}
