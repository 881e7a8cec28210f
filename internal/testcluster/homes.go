package testcluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"slices"

	"github.com/colinmarc/hdfs/v2"
)

// makeHomes makes what the users of an HDFS expect to find: /tmp for all, and a home for the user that
// this process is and for the one that HADOOP_USER_NAME says.
func (c *Cluster) makeHomes(ctx context.Context) error {
	users := []string{os.Getenv("HADOOP_USER_NAME")}
	if u, err := user.Current(); err == nil {
		users = append(users, u.Username)
	}
	users = slices.DeleteFunc(users, func(name string) bool { return name == "" })
	client, err := hdfs.NewClient(hdfs.ClientOptions{Addresses: c.nameNodes(), User: daemonUser})
	if err != nil {
		return fmt.Errorf("home directories on the test cluster: %w", err)
	}
	defer client.Close()
	// The client takes no context; these are a few calls to a NameNode that has just answered.
	stop := context.AfterFunc(ctx, func() { client.Close() })
	defer stop()
	for _, dir := range []string{"/tmp", "/user"} {
		if err := makeDir(client, dir); err != nil {
			return err
		}
	}
	if err := client.Chmod("/tmp", 0o1777); err != nil {
		return err
	}
	for _, name := range slices.Compact(users) {
		if err := makeDir(client, "/user/"+name); err != nil {
			return err
		}
		if err := client.Chown("/user/"+name, name, name); err != nil {
			return err
		}
	}
	return nil
}

func makeDir(client *hdfs.Client, dir string) error {
	if err := client.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("home directories on the test cluster: %w", err)
	}
	return nil
}
