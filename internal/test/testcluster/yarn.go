package testcluster

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// EnvYARN set to 1 enables tests that start a cluster with YARN, which take minutes each.
const EnvYARN = "BULKLOAD_YARN"

// NeedsYARN skips a test that starts a cluster with YARN, unless EnvYARN is set.
func NeedsYARN(t testing.TB) {
	t.Helper()
	if testing.Short() || os.Getenv(EnvYARN) == "" {
		t.Skipf("%s=1 has it run", EnvYARN)
	}
}

// YARNPorts are the TCP ports of YARN's daemons and of the history server.
type YARNPorts struct {
	Resource     int               `json:"resource"` // of the ResourceManager, for clients
	Scheduler    int               `json:"scheduler"`
	Tracker      int               `json:"tracker"`
	Admin        int               `json:"admin"`
	Web          int               `json:"web"`
	History      int               `json:"history"`
	HistoryAdmin int               `json:"history_admin"`
	HistoryWeb   int               `json:"history_web"`
	NodeManager  []NodeManagerPort `json:"nodemanager"`
}

// NodeManagerPort are the ports of one NodeManager.
type NodeManagerPort struct {
	Containers int `json:"containers"`
	Localizer  int `json:"localizer"`
	Web        int `json:"web"`
	Shuffle    int `json:"shuffle"`
}

func yarnPorts(take func() int, nodeManagers int) *YARNPorts {
	if nodeManagers == 0 {
		return nil
	}
	p := &YARNPorts{Resource: take(), Scheduler: take(), Tracker: take(), Admin: take(), Web: take(),
		History: take(), HistoryAdmin: take(), HistoryWeb: take()}
	for range nodeManagers {
		p.NodeManager = append(p.NodeManager, NodeManagerPort{Containers: take(), Localizer: take(), Web: take(), Shuffle: take()})
	}
	return p
}

// The principals of YARN's daemons.
const (
	resourceManagerID = "rm/localhost"
	nodeManagerID     = "nm/localhost"
	historyServerID   = "jhs/localhost"
)

func (c *Cluster) hasYARN() bool { return c.state.Ports.YARN != nil }

func (l layout) hadoopHome() string    { return filepath.Join(l.dir, "hadoop") }
func (l layout) yarnClasses() string   { return filepath.Join(l.hadoopHome(), "classes") }
func (l layout) httpSecret() string    { return filepath.Join(l.kdc(), "http-secret") }
func (l layout) nodes() string         { return filepath.Join(l.data(), "nodes") }
func (l layout) node(role Role) string { return filepath.Join(l.nodes(), string(role)) }

// javaHome returns the directory whose bin contains this java.
func javaHome(java string) string {
	if real, err := filepath.EvalSymlinks(java); err == nil {
		java = real
	}
	return filepath.Dir(filepath.Dir(java))
}

// YARNEnd returns the address of the ResourceManager's web server, host:port.
func (c *Cluster) YARNEnd() string { return local(c.state.Ports.YARN.Web) }

// HistoryEnd returns the address of the history server's web server, host:port.
func (c *Cluster) HistoryEnd() string { return local(c.state.Ports.YARN.HistoryWeb) }

// HadoopHome returns the value of HADOOP_HOME on an edge node of a cluster with YARN: bin/hadoop and bin/mapred, and
// share/hadoop/tools/lib with the jar of Hadoop Streaming. It is empty without YARN.
func (c *Cluster) HadoopHome() string {
	if !c.hasYARN() {
		return ""
	}
	return c.layout.hadoopHome()
}

// writeYARN writes the daemons' files besides their configuration, and the clients' part of Hadoop.
func (l layout) writeYARN(ctx context.Context, o Options, lib, java string) error {
	compiled, err := compile(ctx, "yarn-classes", lib, "yarn")
	if err != nil {
		return err
	}
	tools := filepath.Join(l.hadoopHome(), "share", "hadoop", "tools", "lib")
	for _, dir := range []string{tools, filepath.Join(l.hadoopHome(), "bin")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	// Classes before Hadoop's jars are only for a cluster with Kerberos.
	if o.Security.Kerberos {
		err = errors.Join(os.MkdirAll(l.kdc(), 0o700), os.Symlink(compiled, l.yarnClasses()), os.WriteFile(l.httpSecret(), []byte(rand.Text()), 0o600))
	} else {
		err = os.Mkdir(l.yarnClasses(), 0o755)
	}
	jars, globErr := filepath.Glob(filepath.Join(lib, "hadoop-streaming-*.jar"))
	for _, jar := range jars {
		err = errors.Join(err, os.Symlink(jar, filepath.Join(tools, filepath.Base(jar))))
	}
	for name, text := range map[string]string{"hadoop": hadoopScript(l, lib, java), "mapred": mapredScript} {
		err = errors.Join(err, os.WriteFile(filepath.Join(l.hadoopHome(), "bin", name), []byte(text), 0o755))
	}
	return errors.Join(err, globErr)
}

// hadoopScript implements the commands of Hadoop's script that a client of YARN needs: hadoop jar, hadoop classpath,
// hadoop CLASS.
func hadoopScript(l layout, lib, java string) string {
	return fmt.Sprintf(`#!/bin/sh
conf=${HADOOP_CONF_DIR:-%s}
path="%s:$conf"
case $1 in
classpath) echo "$path"; exit ;;
jar) shift; set -- org.apache.hadoop.util.RunJar "$@" ;;
esac
exec %s -Xmx256m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 --add-opens=java.base/java.lang=ALL-UNNAMED \
	%s -Djava.net.preferIPv4Stack=true ${KRB5_CONFIG:+-Djava.security.krb5.conf=$KRB5_CONFIG} \
	-Dbulkload.log=INFO $HADOOP_CLIENT_OPTS -cp "$path${HADOOP_CLASSPATH:+:$HADOOP_CLASSPATH}" "$@"
`, l.conf(), jarPath(lib), java, strings.Join(classData(lib), " "))
}

// mapredScript implements the one command of Hadoop's script that submits Streaming jobs.
const mapredScript = `#!/bin/sh
home=$(cd "$(dirname "$0")/.." && pwd)
[ "$1" = streaming ] || { echo "mapred: no command $1" >&2; exit 1; }
shift
exec "$home/bin/hadoop" jar "$home"/share/hadoop/tools/lib/hadoop-streaming-*.jar "$@"
`
