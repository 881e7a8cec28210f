package testcluster

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// JVMs spend almost half of a cluster's start on reading and verifying classes. A class-data archive (CDS, JDK 17) holds them, and their lambdas, in
// their final form: a cluster with one starts with 10 seconds of processor time instead of 18. The first cluster that starts on a machine lists the
// classes that its daemons load, and creates the archive from them. The first one with YARN creates one of YARN's jars, which includes the classes of
// a small job, whose four JVMs take 8 seconds with it instead of 22. An archive serves each JVM whose class path begins with its jars, in their
// order; any other JVM, such as one of another version, loads its classes as before.

// classArchive returns the path of the archive for a directory of jars, whether or not it exists.
func classArchive(lib string) (string, error) {
	root, err := cacheRoot()
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(lib + " with lambdas"))
	return filepath.Join(root, fmt.Sprintf("archive-%x", sum[:6]), "classes.jsa"), nil
}

// classData returns the flags with which a JVM uses the archive of lib, or none if there is no archive. The class
// path must begin with lib's jars.
func classData(lib string) []string {
	archive, err := classArchive(lib)
	if err != nil {
		return nil
	}
	if _, err := os.Stat(archive); err != nil {
		return nil
	}
	// A JVM that cannot use the archive would print a message to standard output.
	return []string{"-XX:SharedArchiveFile=" + archive, "-Xlog:cds=off", "-Xlog:class+path=off"}
}

// classList returns the file in which a JVM lists the classes that it loads from a directory of jars.
func classList(l layout, lib, jvm string) string {
	return filepath.Join(l.logs(), filepath.Base(lib)+"-"+jvm+".classes")
}

// listClasses returns the flags with which a daemon lists the classes it loads, for [Cluster.archiveClasses], or uses
// the archive if there is one.
func listClasses(l layout, lib string, role Role) []string {
	if flags := classData(lib); flags != nil {
		return flags
	}
	return []string{listing(classList(l, lib, string(role)))}
}

func listing(file string) string { return "-XX:DumpLoadedClassList=" + file }

// archiveClasses creates the missing archives of the cluster's jars, from the classes that its JVMs have loaded. It creates none for a
// cluster whose HBase and HDFS have different jars, and none of YARN's for a cluster with Kerberos.
func (c *Cluster) archiveClasses(ctx context.Context) (err error) {
	if c.lib == c.hdfsLib {
		err = c.archive(ctx, c.lib, func() error { return nil })
	}
	if c.hasYARN() && !c.state.Security.Kerberos {
		err = errors.Join(err, c.archive(ctx, c.yarnLib, func() error { return c.smallJob(ctx) }))
	}
	return err
}

// archive creates the archive of a directory of jars, if there is none, from the classes that are listed after more
// has returned.
func (c *Cluster) archive(ctx context.Context, lib string, more func() error) error {
	archive, err := classArchive(lib)
	if err != nil {
		return err
	}
	return fillOnce(ctx, filepath.Dir(archive), func(part string) error {
		if err := more(); err != nil {
			return err
		}
		names, err := filepath.Glob(classList(c.layout, lib, "*"))
		if err != nil {
			return err
		}
		var all []string
		for _, name := range names {
			data, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			for s := bufio.NewScanner(bytes.NewReader(data)); s.Scan(); {
				// Comments begin with "#", lambdas with "@"; a class may be followed by its source.
				line := s.Text()
				if !strings.HasPrefix(line, "@") {
					line, _, _ = strings.Cut(line, " ")
				}
				if line != "" && !strings.HasPrefix(line, "#") {
					all = append(all, line)
				}
			}
		}
		slices.Sort(all)
		list := filepath.Join(part, "classes.lst")
		if err := os.WriteFile(list, []byte(strings.Join(slices.Compact(all), "\n")+"\n"), 0o644); err != nil {
			return err
		}
		return runTool(ctx, c.java, "-Xshare:dump", "-XX:+UseSerialGC", "-Xlog:disable", "-XX:SharedClassListFile="+list,
			"-XX:SharedArchiveFile="+filepath.Join(part, filepath.Base(archive)), "-cp", jarPath(lib))
	})
}

// smallJob runs a job of Hadoop Streaming whose client and containers list their classes.
func (c *Cluster) smallJob(ctx context.Context) error {
	const dir = "/tmp/classes"
	list := func(jvm string) string { return listing(classList(c.layout, c.yarnLib, jvm)) }
	job := []string{"mapred", "streaming"}
	for _, key := range containerOptions() {
		job = append(job, "-D", key+"="+containerJVM(c.layout, c.yarnLib, c.state.Security)+" "+list("container-%p"))
	}
	job = append(job, "-D", "mapreduce.job.reduces=1", "-input", dir+"/in", "-output", dir+"/out", "-mapper", "cat", "-reducer", "cat")
	shell := []string{"hadoop", "org.apache.hadoop.fs.FsShell"}
	for _, argv := range [][]string{
		append(shell, "-mkdir", dir), append(shell, "-put", filepath.Join(c.ConfDir(), "core-site.xml"), dir+"/in"), job, append(shell, "-rm", "-r", "-skipTrash", dir),
	} {
		program := filepath.Join(c.HadoopHome(), "bin", argv[0])
		env := append(c.clientEnvironment(), "HADOOP_CONF_DIR="+c.ConfDir(), "HADOOP_CLIENT_OPTS="+list("client-%p"))
		if _, err := c.spawner.output(ctx, nil, append([]string{program}, argv[1:]...), env); err != nil {
			return fmt.Errorf("list the classes of a job: %s: %w", strings.Join(argv, " "), err)
		}
	}
	return nil
}

// jarPath returns the class path of a directory of jars. Other entries of a class path must follow it, since the class path must begin
// with the archive's.
func jarPath(lib string) string { return filepath.Join(lib, "*") }
