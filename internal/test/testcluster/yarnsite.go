package testcluster

import (
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// NodeMemoryMB is the container memory of each NodeManager, in MiB, which is also the maximum of one container.
const NodeMemoryMB = 2048

// The directories on HDFS that YARN and the history server share with users.
const (
	appLogs    = "/yarn-logs"
	jobHistory = "/mr-history"
)

// The users of YARN's daemons on a cluster with Kerberos, and the group of both.
const (
	yarnUser   = "yarn"
	mapredUser = "mapred"
	yarnGroup  = "hadoop"
)

// yarnClassPath returns the class path of containers, which has the clients' configuration and no keytab.
func yarnClassPath(l layout, lib string) string {
	return l.conf() + "," + l.yarnClasses() + "," + filepath.Join(lib, "*")
}

// yarnSite returns the settings of YARN for clients and daemons.
func yarnSite(l layout, p Ports, lib string, o Options) map[string]string {
	y := p.YARN
	site := map[string]string{
		"yarn.resourcemanager.hostname":                         "localhost",
		"yarn.resourcemanager.address":                          local(y.Resource),
		"yarn.resourcemanager.scheduler.address":                local(y.Scheduler),
		"yarn.resourcemanager.resource-tracker.address":         local(y.Tracker),
		"yarn.resourcemanager.admin.address":                    local(y.Admin),
		"yarn.resourcemanager.webapp.address":                   local(y.Web),
		"yarn.application.classpath":                            yarnClassPath(l, lib),
		"yarn.nodemanager.hostname":                             "localhost",
		"yarn.nodemanager.aux-services":                         "mapreduce_shuffle",
		"yarn.nodemanager.aux-services.mapreduce_shuffle.class": "org.apache.hadoop.mapred.ShuffleHandler",
		"yarn.nodemanager.resource.memory-mb":                   strconv.Itoa(NodeMemoryMB),
		"yarn.nodemanager.resource.cpu-vcores":                  "4",
		"yarn.scheduler.minimum-allocation-mb":                  "128",
		"yarn.scheduler.maximum-allocation-mb":                  strconv.Itoa(NodeMemoryMB),
		// A container that uses more than it requested is killed, as with cgroups.
		"yarn.nodemanager.resource.memory.enforced":                                     "false",
		"yarn.nodemanager.vmem-check-enabled":                                           "false",
		"yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage": "99.5",
		"yarn.log-aggregation-enable":                                                   "true",
		"yarn.nodemanager.remote-app-log-dir":                                           appLogs,
		"yarn.log.server.url":                                                           "http://" + local(y.HistoryWeb) + "/jobhistory/logs",
		"yarn.log.server.web-service.url":                                               "http://" + local(y.HistoryWeb) + "/ws/v1/history",
		// Users that may view and end an application: its owner, and these.
		"yarn.acl.enable": "true",
		"yarn.admin.acl":  daemonUser + "," + yarnUser,
		// A dead NodeManager is detected after less than a minute instead of ten; the start of an ApplicationMaster on
		// a busy machine takes longer than that. Containers that have lost their cluster end soon.
		"yarn.nm.liveness-monitor.expiry-interval-ms":             "40000",
		"yarn.am.liveness-monitor.expiry-interval-ms":             "180000",
		"yarn.resourcemanager.connect.max-wait.ms":                "60000",
		"yarn.resourcemanager.nodemanagers.heartbeat-interval-ms": "250",
	}
	if o.Security.Kerberos {
		maps.Copy(site, map[string]string{
			"yarn.resourcemanager.principal": Principal(resourceManagerID),
			"yarn.nodemanager.principal":     Principal(nodeManagerID),
		})
	}
	return site
}

// yarnDaemonSecurity adds the settings that only the daemons have.
func yarnDaemonSecurity(l layout, yarn, mapred map[string]string) {
	web, webKeytab := Principal(webID), l.keytab(webID)
	maps.Copy(yarn, map[string]string{
		"yarn.resourcemanager.keytab":                    l.keytab(resourceManagerID),
		"yarn.resourcemanager.webapp.spnego-principal":   web,
		"yarn.resourcemanager.webapp.spnego-keytab-file": webKeytab,
		"yarn.nodemanager.keytab":                        l.keytab(nodeManagerID),
		"yarn.nodemanager.webapp.spnego-principal":       web,
		"yarn.nodemanager.webapp.spnego-keytab-file":     webKeytab,
	})
	maps.Copy(mapred, map[string]string{
		"mapreduce.jobhistory.keytab":                    l.keytab(historyServerID),
		"mapreduce.jobhistory.webapp.spnego-principal":   web,
		"mapreduce.jobhistory.webapp.spnego-keytab-file": webKeytab,
	})
}

// webSecurity makes the web servers of YARN's daemons require SPNEGO. The settings are on their command lines, since every
// daemon reads every file, and HDFS's servers stay open to the probes.
func webSecurity(l layout) [][2]string {
	return [][2]string{
		{"hadoop.http.filter.initializers", "org.apache.hadoop.security.AuthenticationFilterInitializer"},
		{"hadoop.http.authentication.type", "kerberos"},
		{"hadoop.http.authentication.kerberos.principal", Principal(webID)},
		{"hadoop.http.authentication.kerberos.keytab", l.keytab(webID)},
		{"hadoop.http.authentication.signature.secret.file", l.httpSecret()},
		{"hadoop.http.authentication.simple.anonymous.allowed", "false"},
	}
}

// mapredSite without YARN has only the setting that users other than the HDFS superuser need: they cannot create the
// default staging directory, which is a local path that is looked up on HDFS.
func mapredSite(l layout, p Ports, lib string, o Options) map[string]string {
	site := map[string]string{"mapreduce.jobtracker.staging.root.dir": "/user"}
	if !o.YARN {
		return site
	}
	y := p.YARN
	maps.Copy(site, map[string]string{
		"mapreduce.framework.name":                   "yarn",
		"mapreduce.application.classpath":            yarnClassPath(l, lib),
		"yarn.app.mapreduce.am.staging-dir":          "/user",
		"yarn.app.mapreduce.am.resource.mb":          "512",
		"yarn.app.mapreduce.am.command-opts":         "-Xmx256m",
		"mapreduce.map.memory.mb":                    "512",
		"mapreduce.map.java.opts":                    "-Xmx192m",
		"mapreduce.reduce.memory.mb":                 "512",
		"mapreduce.reduce.java.opts":                 "-Xmx192m",
		"mapreduce.task.io.sort.mb":                  "64",
		"mapreduce.jobhistory.address":               local(y.History),
		"mapreduce.jobhistory.admin.address":         local(y.HistoryAdmin),
		"mapreduce.jobhistory.webapp.address":        local(y.HistoryWeb),
		"mapreduce.jobhistory.intermediate-done-dir": jobHistory + "/intermediate",
		"mapreduce.jobhistory.done-dir":              jobHistory + "/done",
		"mapreduce.jobhistory.move.interval-ms":      "5000",

		"yarn.app.mapreduce.am.scheduler.heartbeat.interval-ms": "250",
	})
	if o.Security.Kerberos {
		site["mapreduce.jobhistory.principal"] = Principal(historyServerID)
	}
	// A job's own options follow these.
	jvm := containerJVM(l, lib, o.Security)
	for _, key := range containerOptions() {
		site[key] = jvm
	}
	return site
}

// containerOptions returns the settings of the JVM options in containers.
func containerOptions() []string {
	return []string{"mapreduce.admin.map.child.java.opts", "mapreduce.admin.reduce.child.java.opts", "yarn.app.mapreduce.am.admin-command-opts"}
}

// containerJVM returns the options of JVMs in containers. With Kerberos, Java looks up the realm before it uses tokens. Without, the class path
// begins with the jars, as an archive of classes requires: Hadoop's own class path begins with the container's directory.
func containerJVM(l layout, lib string, s Security) string {
	options := []string{"-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"}
	if s.Kerberos {
		options = append(options, "-Djava.security.krb5.conf="+l.krb5Conf())
	} else {
		options = slices.Concat(options, classData(lib), []string{"-cp", classPath(jarPath(lib), l.conf())})
	}
	return strings.Join(options, " ")
}

// capacityScheduler configures two queues. Only the administrators and an application's owner may end it.
func capacityScheduler() map[string]string {
	const root = "yarn.scheduler.capacity.root."
	return map[string]string{
		"yarn.scheduler.capacity.maximum-am-resource-percent": "0.5",
		root + "queues":                    "default,nightly",
		root + "acl_administer_queue":      " ",
		root + "default.capacity":          "70",
		root + "nightly.capacity":          "30",
		root + "default.maximum-capacity":  "100",
		root + "nightly.maximum-capacity":  "100",
		root + "default.user-limit-factor": "10",
		root + "nightly.user-limit-factor": "10",
	}
}

// nodeManagerSettings returns the settings that differ between NodeManagers.
func nodeManagerSettings(l layout, p NodeManagerPort, role Role) [][2]string {
	return [][2]string{
		{"yarn.nodemanager.address", local(p.Containers)},
		{"yarn.nodemanager.localizer.address", local(p.Localizer)},
		{"yarn.nodemanager.webapp.address", local(p.Web)},
		{"mapreduce.shuffle.port", strconv.Itoa(p.Shuffle)},
		{"yarn.nodemanager.local-dirs", filepath.Join(l.node(role), "local")},
		{"yarn.nodemanager.log-dirs", filepath.Join(l.node(role), "logs")},
	}
}
