package bench

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"bulkload/internal/test/bench/data"
)

// oldWay is the peer's program. It is Java, not Python, since Python workers would dominate the measurement.
//
//go:embed java/OldWay.java
var oldWay []byte

// sparkVersion is the requirement for pip; only its jars are used.
const sparkVersion = "pyspark==3.5.*"

// noSparkError is the reason why Spark cannot be measured here; the case continues without it.
type noSparkError struct{ err error }

func (e *noSparkError) Error() string {
	return fmt.Sprintf("%v (set SPARK_HOME, or let python3 with pip install %s)", e.err, sparkVersion)
}

func (e *noSparkError) Unwrap() error { return e.err }

// sparkJars returns the directory of Spark's jars: that of SPARK_HOME, else one that pip installs below the Lab's
// directory.
func (l *Lab) sparkJars(ctx context.Context) (string, error) {
	if home := os.Getenv("SPARK_HOME"); home != "" {
		jars := filepath.Join(home, "jars")
		if found, _ := filepath.Glob(filepath.Join(jars, "spark-core_*.jar")); len(found) == 0 {
			return "", &noSparkError{fmt.Errorf("no spark-core jar in %s", jars)}
		}
		return jars, nil
	}
	pattern := l.path("venv", "lib", "python*", "site-packages", "pyspark", "jars")
	for try := range 2 {
		if found, _ := filepath.Glob(filepath.Join(pattern, "spark-core_*.jar")); len(found) > 0 {
			return filepath.Dir(found[0]), nil
		}
		if try > 0 {
			break
		}
		l.Log.Info("installing Spark, some 300 MB", "what", sparkVersion, "dir", l.path("venv"))
		for _, argv := range [][]string{
			{"python3", "-m", "venv", l.path("venv")},
			{l.path("venv", "bin", "pip"), "install", "-q", sparkVersion},
		} {
			if _, _, err := (command{argv: argv}).run(ctx); err != nil {
				return "", &noSparkError{err}
			}
		}
	}
	return "", &noSparkError{fmt.Errorf("no spark-core jar in %s", pattern)}
}

// sparkPath returns a class path for Spark and HBase together. Spark's jars come first and include Hadoop's client in
// one jar; Hadoop's own jars in addition would be a second version of it.
func sparkPath(conf, spark, lib string) ([]string, error) {
	jars, err := filepath.Glob(filepath.Join(lib, "*.jar"))
	if err != nil {
		return nil, err
	}
	jars = slices.DeleteFunc(jars, func(jar string) bool {
		name := filepath.Base(jar)
		return slices.ContainsFunc([]string{"hadoop-", "netty-", "jackson-", "slf4j-", "reload4j-", "jersey-", "jetty-"},
			func(prefix string) bool { return strings.HasPrefix(name, prefix) })
	})
	return append([]string{conf, filepath.Join(spark, "*")}, jars...), nil
}

// spark returns the tool that runs a Spark job that writes HFiles in the earlier way, and then HBase's loader.
func (r *runner) spark(ctx context.Context) (Tool, error) {
	l := r.lab
	vm, err := java()
	if err != nil {
		return Tool{}, err
	}
	jars, err := l.sparkJars(ctx)
	if err != nil {
		return Tool{}, err
	}
	input, err := l.file(ctx, r.spec, data.Dump)
	if err != nil {
		return Tool{}, err
	}
	classPath, err := sparkPath(r.cluster.ConfDir(), jars, r.cluster.LibDir())
	if err != nil {
		return Tool{}, err
	}
	classes := l.path("spark-classes")
	source := filepath.Join(classes, "OldWay.java")
	if err := os.MkdirAll(classes, 0o755); err != nil {
		return Tool{}, err
	}
	if err := os.WriteFile(source, oldWay, 0o644); err != nil {
		return Tool{}, err
	}
	javac := filepath.Join(filepath.Dir(vm), "javac")
	if _, _, err := (command{argv: []string{javac, "-nowarn", "-encoding", "UTF-8", "-cp", strings.Join(classPath, string(filepath.ListSeparator)),
		"-d", classes, source}}).run(ctx); err != nil {
		return Tool{}, err
	}
	out := workDir + "/spark-out"
	argv := javaArgs(vm, append([]string{classes}, classPath...), "OldWay", "file://"+input, out, runTable,
		strings.Join(r.spec.Table.Columns(), ","))
	// SparkConf reads its settings from system properties.
	settings := []string{
		fmt.Sprintf("-Dspark.master=local[%d]", runtime.NumCPU()), "-Dspark.app.name=bulkload-bench", "-Dspark.ui.enabled=false",
		"-Dspark.local.dir=" + l.path("mapreduce"), "-Dspark.driver.host=localhost", "-Dspark.driver.bindAddress=127.0.0.1",
		"-Dspark.hadoop.validateOutputSpecs=false",
	}
	argv = slices.Insert(argv, 1, settings...)
	return Tool{Name: PeerSpark, Rows: r.spec.Rows, Warm: warmFiles(input), Run: func(ctx context.Context, _ int) (Sample, error) {
		return r.javaJob(ctx, argv, out)
	}}, nil
}
