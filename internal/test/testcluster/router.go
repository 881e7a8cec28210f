package testcluster

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"testing"

	"bulkload/internal/test/testcheck"
)

// maxMountTries is the number of attempts to add a mount point to a router that is starting.
const maxMountTries = 20

// Router starts a router of router-based federation in front of the NameNode of a cluster without Kerberos, and returns its address,
// host:port. Paths outside of the mount points are those of the NameNode. The router serves some seconds after the call, and ends with the
// test. mounts maps paths of the router to their directories.
func (c *Cluster) Router(t testing.TB, mounts map[string]string) string {
	t.Helper()
	address, err := c.router(t, mounts)
	testcheck.Must(t, err)
	return address
}

func (c *Cluster) router(t testing.TB, mounts map[string]string) (address string, err error) {
	lib, err := cachedJars(t.Context(), "router.xml", "router-", "")
	if err != nil {
		return "", err
	}
	ports, err := pickPorts(0, 1, 1, 0)
	if err != nil {
		return "", err
	}
	dir := t.TempDir()
	const federation, space = "dfs.federation.router.", "ns0"
	address = local(ports.NameNode)
	err = writeFiles(dir, map[string]string{
		"log4j.properties": log4jProperties,
		"core-site.xml":    siteXML(map[string]string{"fs.defaultFS": "hdfs://" + address, "ipc.client.connect.retry.interval": "200", "ipc.client.connect.max.retries": "100"}, nil),
		"hdfs-site.xml": siteXML(map[string]string{
			"dfs.nameservices":                          space,
			"dfs.namenode.rpc-address." + space:         local(c.state.Ports.NameNode),
			federation + "monitor.namenode":             space,
			federation + "monitor.localnamenode.enable": "false",
			federation + "default.nameserviceId":        space,
			federation + "rpc-address":                  address,
			federation + "admin-address":                local(ports.Standby),
			federation + "http.enable":                  "false",
			federation + "safemode.enable":              "false",
			federation + "heartbeat.interval":           "1000",
			federation + "cache.ttl":                    "1s",
			federation + "store.driver.class":           "org.apache.hadoop.hdfs.server.federation.store.driver.impl.StateStoreFileImpl",
			federation + "store.driver.file.directory":  filepath.Join(dir, "store"),
		}, nil),
	})
	if err != nil {
		return "", err
	}
	java := func(class string, args ...string) []string {
		argv := append([]string{c.java}, javaFlags(192)...)
		argv = append(argv, "-XX:TieredStopAtLevel=1", "-Djava.io.tmpdir="+dir, "-cp", classPath(jarPath(c.lib), jarPath(lib), dir), class)
		return append(argv, args...)
	}
	c.runFurther(t, "the router", java("org.apache.hadoop.hdfs.server.federation.router.DFSRouter"), environment("HADOOP_USER_NAME="+daemonUser))
	for _, mount := range slices.Sorted(maps.Keys(mounts)) {
		argv := java("org.apache.hadoop.hdfs.tools.federation.RouterAdmin", "-add", mount, space, mounts[mount])
		for tries := 1; ; tries++ { // the router may not have its store yet
			_, err := c.spawner.output(t.Context(), nil, argv, environment("HADOOP_USER_NAME="+daemonUser))
			if err == nil {
				break
			}
			if tries == maxMountTries {
				return "", fmt.Errorf("mount point %s of the router: %w", mount, err)
			}
		}
	}
	return address, nil
}

// runFurther runs a further daemon until the test ends.
func (c *Cluster) runFurther(t testing.TB, what string, argv, env []string) {
	// Not the test's context, which ends before its cleanup.
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if out, err := c.spawner.output(ctx, nil, argv, env); ctx.Err() == nil {
			t.Logf("%s has ended: %v\n%s", what, err, lastLines(out, 20))
		}
	}()
	t.Cleanup(func() { cancel(); <-ended })
}
