package testcluster

import (
	"encoding/xml"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// layout has the paths of a cluster's files, all below one directory.
type layout struct{ dir string }

func (l layout) conf() string { return filepath.Join(l.dir, "conf") }

// daemonConf returns the directory of the daemons' configuration, which has more settings than the clients'.
func (l layout) daemonConf() string { return filepath.Join(l.dir, "conf-daemons") }
func (l layout) data() string       { return filepath.Join(l.dir, "data") }
func (l layout) logs() string       { return filepath.Join(l.dir, "logs") }
func (l layout) web() string        { return filepath.Join(l.dir, "web") }
func (l layout) state() string      { return filepath.Join(l.dir, "cluster.json") }
func (l layout) name(role Role) string {
	if role == NameNode {
		return filepath.Join(l.data(), "name")
	}
	return filepath.Join(l.data(), "name-"+string(role))
}
func (l layout) log(role Role) string { return filepath.Join(l.logs(), string(role)+".log") }
func (l layout) zooCfg() string       { return filepath.Join(l.conf(), "zoo.cfg") }

// clear removes the files of an earlier cluster, and no other files of the directory.
func (l layout) clear() error {
	for _, path := range append(l.discarded(), l.logs(), l.state()) {
		if err := os.RemoveAll(path); err != nil {
			return err
		}
	}
	return nil
}

// discarded returns the paths that are removed when the cluster is taken down.
func (l layout) discarded() []string {
	return []string{l.conf(), l.daemonConf(), l.data(), l.web(), l.kdc(), l.tls(), l.hadoopHome(), l.kms()}
}

// write creates the directories and every configuration file.
func (l layout) write(o Options, ports Ports, yarnLib string) error {
	core, hdfs, hbase := coreSite(l, ports, o), hdfsSite(l, ports, o), hbaseSite(l, ports, o)
	mapred, yarn := mapredSite(l, ports, yarnLib, o), map[string]string(nil)
	if o.YARN {
		yarn = yarnSite(l, ports, yarnLib, o)
	}
	files := map[string]string{
		l.zooCfg():                                   zooCfg(l, ports),
		filepath.Join(l.dir, ".gitignore"):           "*\n",
		filepath.Join(l.web(), webXML("hdfs")):       "<web-app/>\n",
		filepath.Join(l.web(), webXML("datanode")):   "<web-app/>\n",
		filepath.Join(l.web(), webXML("journal")):    "<web-app/>\n",
		filepath.Join(l.data(), "zookeeper", "keep"): "",
		filepath.Join(l.data(), "tmp", "keep"):       "",
		filepath.Join(l.logs(), "keep"):              "",
	}
	sites := func(dir string) {
		files[filepath.Join(dir, "core-site.xml")] = siteXML(core, o.CoreSite)
		files[filepath.Join(dir, "hdfs-site.xml")] = siteXML(hdfs, o.HDFSSite)
		files[filepath.Join(dir, "hbase-site.xml")] = siteXML(hbase, o.HBaseSite)
		files[filepath.Join(dir, "mapred-site.xml")] = siteXML(mapred, o.MapredSite)
		if o.YARN {
			files[filepath.Join(dir, "yarn-site.xml")] = siteXML(yarn, o.YARNSite)
		}
		files[filepath.Join(dir, "log4j.properties")] = log4j(o.Security)
	}
	clientSecurity(o.Security, core, hdfs, hbase)
	clientTLS(l, o.Security, hbase)
	sites(l.conf())
	daemonSecurity(l, o.Security, hdfs, hbase)
	if o.YARN {
		files[filepath.Join(l.daemonConf(), "capacity-scheduler.xml")] = siteXML(capacityScheduler(), nil)
		if o.Security.Kerberos {
			yarnDaemonSecurity(l, yarn, mapred)
		}
	}
	daemonTLS(l, o.Security, hbase)
	sites(l.daemonConf())
	files[filepath.Join(l.daemonConf(), "hadoop-metrics2-hbase.properties")] = metricsProperties
	return writeFiles("", files)
}

// writeFiles writes files by their names below a directory, and creates missing directories.
func writeFiles(dir string, files map[string]string) error {
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// The hadoop-hdfs 3.4.3 jar on Maven Central holds no webapps, and NameNode and DataNode refuse to start
// without theirs; a stub on the class path is enough for the servlets that matter (/jmx).
func webXML(app string) string { return filepath.Join("webapps", app, "WEB-INF", "web.xml") }

func coreSite(l layout, p Ports, o Options) map[string]string {
	site := map[string]string{
		"fs.defaultFS":   hdfsURI(p, o.HA),
		"hadoop.tmp.dir": filepath.Join(l.data(), "tmp"),
		// All daemons start at once; a daemon that finds no NameNode yet retries soon, for 30 s.
		"ipc.client.connect.retry.interval": "200",
		"ipc.client.connect.max.retries":    "150",
	}
	if o.KMS {
		site["hadoop.security.key.provider.path"] = keyProvider(p)
	}
	return site
}

func hdfsSite(l layout, p Ports, o Options) map[string]string {
	site := map[string]string{
		"dfs.replication":                                      strconv.Itoa(min(o.DataNodes, 3)),
		"dfs.namenode.name.dir":                                "file://" + l.name(NameNode),
		"dfs.namenode.rpc-address":                             local(p.NameNode),
		"dfs.namenode.http-address":                            local(p.NameNodeHTTP),
		"dfs.namenode.datanode.registration.ip-hostname-check": "false",
		"dfs.namenode.safemode.extension":                      "0",
		"dfs.namenode.resource.du.reserved":                    "1048576",
		// The data are discarded with the cluster, so the edit log need not survive a power failure.
		"dfs.namenode.edits.noeditlogchannelflush": "true",
		// Default 10 ms, even if nothing is deleted: that is most of the work of an idle NameNode.
		"dfs.namenode.block.deletion.unlock.interval.ms": "200",
		// A count of callers and calls, which only JMX shows.
		"dfs.namenode.top.enabled": "false",
		// A dead DataNode is removed after 2*recheck + 10*heartbeat = 14 s instead of 10.5 min.
		"dfs.heartbeat.interval":                  "1",
		"dfs.namenode.heartbeat.recheck-interval": "2000",
		"dfs.namenode.stale.datanode.interval":    "5000",
		"dfs.client.datanode-restart.timeout":     "5",
		"dfs.client.socket-timeout":               "20000",
		"dfs.datanode.socket.write.timeout":       "20000",
	}
	if o.HA {
		delete(site, "dfs.namenode.rpc-address")
		delete(site, "dfs.namenode.http-address")
		maps.Copy(site, haSite(l, p))
	}
	return site
}

func hbaseSite(l layout, p Ports, o Options) map[string]string {
	return map[string]string{
		"hbase.rootdir":                       hdfsURI(p, o.HA) + "/hbase",
		"hbase.cluster.distributed":           "true",
		"hbase.tmp.dir":                       filepath.Join(l.data(), "tmp"),
		"hbase.zookeeper.quorum":              "localhost",
		"hbase.zookeeper.property.clientPort": strconv.Itoa(p.ZooKeeper),
		"zookeeper.session.timeout":           strconv.FormatInt(sessionTimeout.Milliseconds(), 10),
		"hbase.wal.provider":                  "filesystem",
		"hbase.master.hostname":               "localhost",
		"hbase.master.port":                   strconv.Itoa(p.Master),
		"hbase.master.info.port":              "-1",
		"hbase.regionserver.hostname":         "localhost",
		"hbase.regionserver.port":             strconv.Itoa(p.RegionServer[0]),
		"hbase.regionserver.info.port":        "-1",
		"hbase.regionserver.handler.count":    "10",
		"hbase.regionserver.msginterval":      "500",
		"hbase.server.thread.wakefrequency":   "500",
		// The environment of the tests' user is not logged.
		"hbase.envvars.logging.disabled":                "true",
		"hbase.hregion.majorcompaction":                 "0",
		"hbase.regionserver.metrics.period":             "60000",   // default 5 s, over all regions
		"hbase.procedure.cleaner.interval":              "3600000", // default 30 s: the master reads all procedures that it ever had
		"hbase.lease.recovery.first.pause":              "1000",
		"hbase.lease.recovery.pause":                    "250",
		"hbase.lease.recovery.dfs.timeout":              "23000",
		"hbase.master.wait.on.regionservers.mintostart": strconv.Itoa(o.RegionServers),
		"hbase.master.wait.on.regionservers.maxtostart": strconv.Itoa(o.RegionServers),
		"hbase.master.wait.on.regionservers.interval":   "100",
	}
}

func zooCfg(l layout, p Ports) string {
	return fmt.Sprintf("tickTime=2000\ndataDir=%s\nclientPortAddress=localhost\nclientPort=%d\nadmin.enableServer=false\nmaxClientCnxns=300\nforceSync=no\n"+
		"4lw.commands.whitelist=srvr,dump,cons\n",
		filepath.Join(l.data(), "zookeeper"), p.ZooKeeper)
}

// log4j returns the log settings of daemons and clients. HDFS's lines for each file, block and call are a fifth of its work, and tests read
// them only for clusters with security.
func log4j(s Security) string {
	if s != (Security{}) {
		return log4jProperties
	}
	return log4jProperties + quietHDFS
}

const log4jProperties = `bulkload.log=WARN
log4j.rootLogger=${bulkload.log},console
log4j.appender.console=org.apache.log4j.ConsoleAppender
log4j.appender.console.target=System.err
log4j.appender.console.layout=org.apache.log4j.PatternLayout
log4j.appender.console.layout.ConversionPattern=%d{ISO8601} %-5p [%t] %c{2}: %m%n
log4j.logger.org.apache.hadoop.util.NativeCodeLoader=ERROR
log4j.logger.org.apache.hadoop.hbase.client.ZKConnectionRegistry=ERROR
`

const quietHDFS = `log4j.logger.org.apache.hadoop.hdfs.StateChange=WARN
log4j.logger.BlockStateChange=WARN
log4j.logger.org.apache.hadoop.hdfs.server.namenode.FSNamesystem=WARN
log4j.logger.org.apache.hadoop.hdfs.server.datanode.DataNode=WARN
log4j.logger.org.apache.hadoop.hdfs.server.datanode.fsdataset.impl.FsDatasetAsyncDiskService=WARN
`

// Without this an HBase server creates and drops the JMX beans of all its metrics after each region that it opens or closes; its JMX is never
// queried.
const metricsProperties = "*.source.start_mbeans=false\n"

func siteXML(base, over map[string]string) string {
	all := maps.Clone(base)
	maps.Copy(all, over)
	var b strings.Builder
	b.WriteString("<?xml version=\"1.0\"?>\n<configuration>\n")
	for _, name := range slices.Sorted(maps.Keys(all)) {
		b.WriteString("  <property><name>")
		xml.EscapeText(&b, []byte(name))
		b.WriteString("</name><value>")
		xml.EscapeText(&b, []byte(all[name]))
		b.WriteString("</value></property>\n")
	}
	b.WriteString("</configuration>\n")
	return b.String()
}
