package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"bulkload/internal/test/testcluster"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/partition"
)

// farHost is the address of the DataNode for clients that connect by its name instead of its address. It is this machine too,
// but only the case of the delayed link listens there; see [Lab.delayCase].
const farHost = "127.0.0.2"

// running returns the cluster: the one that testcluster.EnvConf names, else one in the Lab's directory.
func (l *Lab) running(ctx context.Context) (*testcluster.Cluster, error) {
	if l.cluster != nil {
		return l.cluster, nil
	}
	var err error
	if conf := os.Getenv(testcluster.EnvConf); conf != "" {
		l.cluster, err = testcluster.Attach(ctx, conf)
	} else {
		l.Log.Info("starting the cluster, or finding it running", "dir", l.path("cluster"))
		l.cluster, l.started, err = testcluster.Up(ctx, testcluster.Options{Dir: l.path("cluster"), Log: l.Log, Measured: true,
			HDFSSite: map[string]string{"dfs.datanode.hostname": farHost}})
	}
	return l.cluster, err
}

// clusterEnv returns the environment of the cluster's clients, without variables that affect a JVM.
func clusterEnv(c *testcluster.Cluster) []string {
	drop := []string{"JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "CLASSPATH", "HADOOP_CONF_DIR", "HBASE_CONF_DIR"}
	env := slices.DeleteFunc(os.Environ(), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return slices.Contains(drop, name)
	})
	// Java derives the encoding of files and arguments from the locale.
	return append(append(env, "LC_ALL=C.UTF-8"), c.Environment()...)
}

// hdfs returns a client of the cluster's file system. The caller closes it.
func (l *Lab) hdfs(c *testcluster.Cluster) (*hdfsio.HDFS, error) {
	conf, err := hdfsio.LoadConf(func(name string) (string, bool) {
		if name == "HADOOP_CONF_DIR" {
			return c.ConfDir(), true
		}
		return os.LookupEnv(name)
	})
	if err != nil {
		return nil, err
	}
	location, err := conf.Resolve("hdfs:///")
	if err != nil {
		return nil, err
	}
	o, err := conf.HDFSOptions(location, l.Log)
	if err != nil {
		return nil, err
	}
	return hdfsio.NewHDFS(o)
}

// workDir is the Lab's directory on HDFS.
const workDir = "/tmp/bulkload-bench"

// put copies a local file to workDir, unless a file of its size exists there, and returns its path there.
func put(ctx context.Context, h *hdfsio.HDFS, name string) (remote string, err error) {
	remote = workDir + "/" + filepath.Base(name)
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	if there, err := h.Stat(ctx, remote); err == nil && there.Size() == info.Size() {
		return remote, nil
	}
	if err := errors.Join(h.MkdirAll(ctx, workDir, 0o777), h.RemoveAll(ctx, remote)); err != nil {
		return "", err
	}
	w, err := h.Create(ctx, remote, hdfsio.CreateOptions{})
	if err != nil {
		return "", err
	}
	if _, err := io.Copy(w, f); err != nil {
		return "", errors.Join(err, w.Abort())
	}
	return remote, w.Finish()
}

// openPackages are the internal packages of JDK 17 that Hadoop 3.4 and HBase 2.6 access.
var openPackages = []string{
	"java.lang", "java.lang.reflect", "java.io", "java.net", "java.nio", "java.util", "java.util.concurrent",
	"java.util.concurrent.atomic", "sun.nio.ch", "sun.nio.cs", "sun.security.action", "sun.util.calendar", "jdk.internal.ref",
}

// java returns the path of the JVM.
func java() (string, error) {
	if home := os.Getenv("JAVA_HOME"); home != "" {
		return filepath.Join(home, "bin", "java"), nil
	}
	path, err := exec.LookPath("java")
	if err != nil {
		return "", fmt.Errorf("java is not in PATH: %w", testcluster.ErrToolchain)
	}
	return path, nil
}

// javaArgs returns the command line of a client. Heap, collector and compiler are the JVM's defaults, as in a user's job.
func javaArgs(java string, classPath []string, class string, args ...string) []string {
	argv := []string{java, "--add-exports=java.base/jdk.internal.misc=ALL-UNNAMED",
		"-Dorg.apache.hbase.thirdparty.io.netty.tryReflectionSetAccessible=true", "-Djava.net.preferIPv4Stack=true"}
	for _, p := range openPackages {
		argv = append(argv, "--add-opens=java.base/"+p+"=ALL-UNNAMED")
	}
	argv = append(argv, "-cp", strings.Join(classPath, string(filepath.ListSeparator)), class)
	return append(argv, args...)
}

// clientPath returns the class path of a client of Hadoop and HBase.
func clientPath(c *testcluster.Cluster) []string {
	return []string{c.ConfDir(), filepath.Join(c.LibDir(), "*")}
}

// freshTable creates the empty table of a round.
func freshTable(ctx context.Context, c *testcluster.Cluster, table string, regions int) error {
	adm, err := c.Admin(ctx)
	if err != nil {
		return err
	}
	if _, err := adm.Run(ctx, "drop", table); err != nil {
		return err
	}
	args := []string{"create", table, "--family", "f", "--compression", "SNAPPY", "--encoding", "FAST_DIFF", "--bloom", "ROW"}
	var keys []string
	for _, key := range partition.SaltSplits(regions) {
		keys = append(keys, string(key))
	}
	if len(keys) > 0 {
		args = append(args, "--splits", strings.Join(keys, ","))
	}
	_, err = adm.Run(ctx, args...)
	return err
}
