package testcluster

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

const daemonUser = "hbase"

// The internal packages of JDK 17 that Hadoop 3.4 and HBase 2.6 access; HBase's own start script opens the same.
var openPackages = []string{
	"java.lang", "java.lang.reflect", "java.io", "java.net", "java.nio", "java.util", "java.util.concurrent",
	"java.util.concurrent.atomic", "sun.nio.ch", "sun.nio.cs", "sun.security.action", "sun.util.calendar", "jdk.internal.ref",
}

func javaFlags(heapMB int) []string {
	flags := []string{
		fmt.Sprintf("-Xmx%dm", heapMB), "-XX:+UseSerialGC", "-XX:-UsePerfData",
		"-Djava.net.preferIPv4Stack=true",
		"--add-exports=java.base/jdk.internal.misc=ALL-UNNAMED",
		"-Dorg.apache.hbase.thirdparty.io.netty.tryReflectionSetAccessible=true",
	}
	for _, p := range openPackages {
		flags = append(flags, "--add-opens=java.base/"+p+"=ALL-UNNAMED")
	}
	return flags
}

func classPath(parts ...string) string { return strings.Join(parts, string(filepath.ListSeparator)) }

// daemonCommand returns the argument vector of one daemon, including java.
func daemonCommand(java, lib, classes string, l layout, ports Ports, role Role, o Options) []string {
	argv := append([]string{java}, javaFlags(o.HeapMB[role.base()])...)
	if o.Security.Kerberos {
		argv = append(argv, javaKerberos(l)...)
	}
	// Unpacked files are removed with the cluster: a daemon that is killed removes nothing.
	argv = append(argv, "-Djava.io.tmpdir="+l.logs(), "-Dbulkload.log=INFO", "-XX:+ExitOnOutOfMemoryError",
		"-XX:ErrorFile="+filepath.Join(l.logs(), string(role)+".crash"))
	if o.HostsFile != "" {
		argv = append(argv, "-Djdk.net.hosts.file="+o.HostsFile)
	}
	if role.base() != RegionServer || !o.Measured {
		// The optimising compiler costs daemons more than it gains in their short lives.
		argv = append(argv, "-XX:TieredStopAtLevel=1")
	}
	path := classPath(jarPath(lib), l.daemonConf(), l.web())
	if o.Hosts && role.base() == DataNode {
		path = classPath(path, classes) // SourceAddress
		argv = append(argv, "-Dbulkload.source="+o.host(role))
	}
	if role.part() == ofYARN && o.Security.Kerberos {
		path = classPath(l.yarnClasses(), path) // some classes replace Hadoop's
	} else {
		argv = append(argv, listClasses(l, lib, role)...)
	}
	argv = append(argv, "-cp", path, kinds[role.base()].class)
	if role.part() == ofYARN && o.Security.Kerberos {
		for _, kv := range webSecurity(l) {
			argv = append(argv, "-D", kv[0]+"="+kv[1])
		}
	}
	return append(argv, daemonArgs(l, ports, role, o)...)
}

func daemonArgs(l layout, ports Ports, role Role, o Options) []string {
	define := func(name, value string) []string { return []string{"-D", name + "=" + value} }
	switch role.base() {
	case NameNode:
		if o.HA {
			return slices.Concat(define("dfs.ha.namenode.id", nameNodeID(role)), define("dfs.namenode.name.dir", "file://"+l.name(role)))
		}
	case ZooKeeper:
		return []string{l.zooCfg()}
	case DataNode:
		p := ports.DataNode[role.index()]
		args := slices.Concat(
			define("dfs.datanode.data.dir", dataDirs(filepath.Join(l.data(), string(role)), o.Storages)),
			define("dfs.datanode.address", net.JoinHostPort(o.host(role), strconv.Itoa(p.Data))),
			define("dfs.datanode.ipc.address", local(p.IPC)),
			define("dfs.datanode.http.address", local(p.HTTP)))
		if o.Hosts { // the NameNode identifies a DataNode by the address of its calls
			args = append(args, slices.Concat(define("dfs.datanode.hostname", o.host(role)), define("hadoop.rpc.socket.factory.class.default", "SourceAddress"))...)
		}
		return args
	case NodeManager:
		var args []string
		for _, kv := range nodeManagerSettings(l, ports.YARN.NodeManager[role.index()], role) {
			args = append(args, define(kv[0], kv[1])...)
		}
		return args
	case Master:
		return []string{"start"}
	case RegionServer:
		return append(slices.Concat(define("hbase.regionserver.port", fmt.Sprint(ports.RegionServer[role.index()])),
			o.onHost(role)), "start")
	}
	return nil
}

// onHost returns the settings of a region server with its own address. It listens on all addresses: probes call
// localhost.
func (o Options) onHost(role Role) []string {
	if !o.Hosts {
		return nil
	}
	return []string{"-D", "hbase.regionserver.hostname=" + o.host(role), "-D", "hbase.regionserver.ipc.address=0.0.0.0"}
}

// host returns the address of a DataNode or region server.
func (o Options) host(role Role) string {
	if o.Hosts {
		return fmt.Sprintf("127.0.0.%d", role.index()+1)
	}
	return "localhost"
}

// dataDirs returns the directories of a DataNode; if there are several, they are below dir.
func dataDirs(dir string, storages []string) string {
	if len(storages) == 0 {
		return "file://" + dir
	}
	var dirs []string
	for _, s := range storages {
		dirs = append(dirs, "["+s+"]file://"+filepath.Join(dir, strings.ToLower(s)))
	}
	return strings.Join(dirs, ",")
}

// environment returns this process's environment, without variables that affect JVMs, plus set.
func environment(set ...string) []string {
	drop := []string{"JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "CLASSPATH",
		"HADOOP_CONF_DIR", "HBASE_CONF_DIR", "HADOOP_HOME", "HBASE_HOME"}
	env := slices.DeleteFunc(os.Environ(), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return slices.Contains(drop, name)
	})
	// Java derives the encoding of arguments and of standard output from the locale.
	return append(append(env, "LC_ALL=C.UTF-8"), set...)
}

// daemonEnvironment returns an environment with the daemons' user, or their credentials.
func (c *Cluster) daemonEnvironment() []string {
	// Containers run the java of JAVA_HOME, which is the cluster's own.
	home := "JAVA_HOME=" + javaHome(c.java)
	if c.state.Security.Kerberos {
		return append(c.clientEnvironment(), home)
	}
	return environment("HADOOP_USER_NAME="+daemonUser, home)
}

// clientEnvironment returns the environment of JVMs that act as the user of the tests, or with Kerberos as the logged-in user.
func (c *Cluster) clientEnvironment() []string {
	if !c.state.Security.Kerberos {
		return environment()
	}
	env := slices.DeleteFunc(environment(), func(kv string) bool { return strings.HasPrefix(kv, "HADOOP_USER_NAME=") })
	return append(env, c.layout.kerberosEnvironment()...)
}
