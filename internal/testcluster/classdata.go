package testcluster

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// JVMs spend almost half of a cluster's start on reading and verifying classes. A class-data archive (CDS, JDK 17) holds them, and
// their lambdas, in their final form: a cluster with one starts with 10 seconds of processor time instead of 18. The first cluster that starts on a
// machine lists the classes that its daemons load, and makes the archive of them. An archive serves each JVM whose class path begins with its jars, in their order;
// any other JVM, such as one of another version, loads its classes as before.

// classArchive is the file that is, or would be, the archive of a directory of jars.
func classArchive(lib string) (string, error) {
	root, err := cacheRoot()
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(lib + " with lambdas"))
	return filepath.Join(root, fmt.Sprintf("archive-%x", sum[:6]), "classes.jsa"), nil
}

// classData are the flags that have a JVM use the archive of lib, none if there is no archive. The class path has to begin with lib's jars.
func classData(lib string) []string {
	archive, err := classArchive(lib)
	if err != nil {
		return nil
	}
	if _, err := os.Stat(archive); err != nil {
		return nil
	}
	// A JVM that cannot use it would say so on standard output.
	return []string{"-XX:SharedArchiveFile=" + archive, "-Xlog:cds=off", "-Xlog:class+path=off"}
}

// listClasses are the flags that have a daemon list the classes it loads, for [Cluster.archiveClasses], or use the archive if there is one.
func listClasses(l layout, lib string, role Role) []string {
	if flags := classData(lib); flags != nil {
		return flags
	}
	return []string{"-XX:DumpLoadedClassList=" + filepath.Join(l.logs(), string(role)+".classes")}
}

// archiveClasses makes the archive of the cluster's jars, if there is none, of the classes that the daemons have loaded. There is none for
// a cluster whose daemons have different jars.
func (c *Cluster) archiveClasses(ctx context.Context) error {
	if c.lib != c.hadoopLib {
		return nil
	}
	archive, err := classArchive(c.lib)
	if err != nil {
		return err
	}
	return fillOnce(ctx, filepath.Dir(archive), func(part string) error {
		names, err := filepath.Glob(filepath.Join(c.layout.logs(), "*.classes"))
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
				// Comments begin with "#", lambdas with "@"; a class may be followed by where it was loaded from.
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
			"-XX:SharedArchiveFile="+filepath.Join(part, filepath.Base(archive)), "-cp", jarPath(c.lib))
	})
}

// jarPath is the class path of a directory of jars. Where a class path has more, it comes after them: the archive's class path has to be
// its beginning.
func jarPath(lib string) string { return filepath.Join(lib, "*") }
