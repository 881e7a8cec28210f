package testcluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"slices"
	"strings"

	"bulkload/internal/base/retry"

	"github.com/colinmarc/hdfs/v2"
	"github.com/jcmturner/gokrb5/v8/client"
	"github.com/jcmturner/gokrb5/v8/config"
	"github.com/jcmturner/gokrb5/v8/keytab"
)

// makeHomes creates the usual directories of an HDFS: /tmp for all users, and a home directory for the user of this
// process and for that of HADOOP_USER_NAME.
func (c *Cluster) makeHomes(ctx context.Context) error {
	users := []string{os.Getenv("HADOOP_USER_NAME")}
	if u, err := user.Current(); err == nil {
		users = append(users, u.Username)
	}
	users = slices.DeleteFunc(users, func(name string) bool { return name == "" })
	options := hdfs.ClientOptions{Addresses: c.nameNodes(), User: daemonUser}
	if c.state.Security.Kerberos {
		users = append(users, Loader, NoCreate, Nobody)
		var err error
		if options.KerberosClient, err = c.login(HDFSAdmin); err != nil {
			return err
		}
		options.KerberosServicePrincipleName = "nn/_HOST"
	}
	dfs, err := hdfs.NewClient(options)
	if err != nil {
		return fmt.Errorf("home directories on the test cluster: %w", err)
	}
	defer dfs.Close()
	// The client has no context parameter; these are a few calls to a NameNode that has just answered.
	stop := context.AfterFunc(ctx, func() { dfs.Close() })
	defer stop()
	dirs := []homeDir{{"/tmp", 0o1777, "", ""}, {path: "/user"}}
	if c.state.Security.Kerberos {
		// HBase is not a superuser, and others must reach the staging directory below.
		dirs = append(dirs, homeDir{"/hbase", 0o711, daemonUser, daemonUser})
	}
	if c.hasYARN() {
		dirs = append(dirs, homeDir{appLogs, 0o1777, yarnUser, yarnGroup}, homeDir{jobHistory, 0o1777, mapredUser, yarnGroup})
	}
	slices.Sort(users)
	for _, name := range slices.Compact(users) {
		dirs = append(dirs, homeDir{"/user/" + name, 0, name, name})
	}
	for _, dir := range dirs {
		// A NameNode is operational shortly before it accepts calls (NameNodeRpcServer.checkNNStartup, 3.4).
		for err = dir.make(dfs); err != nil && strings.Contains(err.Error(), "RetriableException"); err = dir.make(dfs) {
			if late := retry.Sleep(ctx, pollEvery); late != nil {
				return errors.Join(late, err)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// homeDir is a directory of HDFS. Without a mode or an owner it keeps that of its creation.
type homeDir struct {
	path         string
	mode         fs.FileMode
	owner, group string
}

func (d homeDir) make(dfs *hdfs.Client) error {
	if err := dfs.Mkdir(d.path, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("home directories on the test cluster: %w", err)
	}
	if d.mode != 0 {
		if err := dfs.Chmod(d.path, d.mode); err != nil {
			return err
		}
	}
	if d.owner == "" {
		return nil
	}
	return dfs.Chown(d.path, d.owner, d.group)
}

// login returns the Kerberos client of a daemon or user.
func (c *Cluster) login(name string) (*client.Client, error) {
	conf, err := config.Load(c.layout.krb5Conf())
	if err != nil {
		return nil, err
	}
	keys, err := keytab.Load(c.Keytab(name))
	if err != nil {
		return nil, err
	}
	k := client.NewWithKeytab(name, Realm, keys, conf, client.DisablePAFXFAST(true))
	if err := k.Login(); err != nil {
		return nil, fmt.Errorf("login as %s: %w", name, err)
	}
	return k, nil
}
