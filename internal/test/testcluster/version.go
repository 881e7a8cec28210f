package testcluster

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// DefaultHBase is the default version of HBase: that of testdata/cluster/pom.xml.
const DefaultHBase = "2.6.4"

// EnvHBase names the version of HBase, one of [Versions], of clusters whose options name none, so that all tests with a cluster can run on it.
const EnvHBase = "BULKLOAD_TEST_HBASE"

// defaultHBase is the version of HBase of clusters whose options name none.
func defaultHBase() string { return cmp.Or(os.Getenv(EnvHBase), DefaultHBase) }

// DefaultHadoop is the default version of HDFS: that of testdata/cluster/pom.xml.
const DefaultHadoop = "3.4.3"

// Hadoops returns the supported versions of HDFS. HBase and the clients keep the Hadoop jars of their own version.
func Hadoops() []string { return []string{DefaultHadoop, "3.3.6", "3.5.0"} }

// Versions returns the supported versions of HBase: DefaultHBase first, then the profiles of testdata/cluster/versions.xml. All
// run on the same ZooKeeper, and on the same HDFS unless Options.Hadoop names another one: those of testdata/cluster/pom.xml.
func Versions() []string {
	return []string{DefaultHBase, "2.4.18", "2.5.13-hadoop3", "3.0.0-alpha-4", "3.0.0-beta-1"}
}

// onHadoop2 reports whether a version has the clients of Hadoop 2, whose classes are incompatible with Hadoop 3.
func onHadoop2(version string) bool { return strings.HasPrefix(version, "2.4.") }

// Codec returns the compression of tests' tables: SNAPPY, or GZ on HBase 2.4, whose Snappy needs a native library.
func Codec() string {
	if onHadoop2(defaultHBase()) {
		return "GZ"
	}
	return "SNAPPY"
}

func validVersion(version string) error {
	if !slices.Contains(Versions(), version) {
		return fmt.Errorf("test cluster: no jars are known of HBase %s; there are %s", version, strings.Join(Versions(), ", "))
	}
	return nil
}

// JarsOf returns the directory of the jars of one of the [Versions], for HBase and its clients; see [Jars].
func JarsOf(ctx context.Context, version string) (string, error) {
	if err := validVersion(version); err != nil {
		return "", err
	}
	if version == DefaultHBase {
		return Jars(ctx)
	}
	profiles := version
	if !onHadoop2(version) {
		profiles += ",hadoop3"
	}
	return cachedJars(ctx, "versions.xml", "", "-"+version, "-P", profiles)
}

// hdfsJars returns the directory of the jars of HDFS of one of the [Hadoops]; see [Jars].
func hdfsJars(ctx context.Context, version string) (string, error) {
	if version == DefaultHadoop {
		return Jars(ctx)
	}
	return cachedJars(ctx, "hadoop.xml", "hadoop-", "-"+version, "-Dhadoop.version="+version)
}

// Version returns the cluster's version of HBase, one of [Versions].
func (c *Cluster) Version() string { return c.state.HBase }

// cachedJars returns the directory of the jars of a pom among the cluster's sources, whose name in the cache is the pom's checksum between prefix
// and suffix; see [Jars]. The options are Maven's.
func cachedJars(ctx context.Context, pom, prefix, suffix string, options ...string) (string, error) {
	src, err := sourceDir()
	if err != nil {
		return "", err
	}
	pom = filepath.Join(src, pom)
	sum, err := contentHash(pom)
	if err != nil {
		return "", err
	}
	return cached(ctx, prefix+sum+suffix, func(part string) error { return fetchJars(ctx, pom, part, options...) })
}
