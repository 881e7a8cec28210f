package streaming

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// ErrNoClient reports a host without a Hadoop client. Its text names the packages to install.
var ErrNoClient = errors.New("no Hadoop client on this host: run on an edge node, or install one (package hadoop-client, or Apache's tarball and HADOOP_HOME) and set HADOOP_CONF_DIR")

// Lookup holds the places to search for Hadoop's client. The zero value searches the process's environment and the usual places.
type Lookup struct {
	// Hadoop is the program hadoop, the program mapred, or the directory HADOOP_HOME. Empty: HADOOP_HOME, HADOOP_PREFIX, PATH,
	// then the places of distributions.
	Hadoop string
	// Env looks up environment variables. Nil: the process's environment.
	Env func(name string) (string, bool)
}

// Client is an installed Hadoop client.
type Client struct {
	// Command is the start of every job's command line.
	Command []string
}

// Places of distributions: the homes of programs, and the directories of jars.
var (
	homes = []string{"/usr/lib/hadoop", "/opt/hadoop", "/usr/local/hadoop", "/opt/cloudera/parcels/CDH/lib/hadoop", "/usr/hdp/current/hadoop-client"}
	tools = []string{"/usr/lib/hadoop-mapreduce", "/opt/cloudera/parcels/CDH/lib/hadoop-mapreduce", "/usr/hdp/current/hadoop-mapreduce-client"}
)

// Find searches for Hadoop's client. It prefers "hadoop jar" with Streaming's jar, which every version has, to "mapred
// streaming" of Hadoop 3, which it uses if there is no jar. Without either it returns ErrNoClient.
func Find(l Lookup) (*Client, error) {
	if l.Env == nil {
		l.Env = os.LookupEnv
	}
	value := func(name string) string { v, _ := l.Env(name); return v }
	hadoop, mapred, err := l.programs(value)
	if err != nil {
		return nil, err
	}
	if hadoop != "" {
		if jar := streamingJar(hadoop, value); jar != "" {
			return &Client{Command: []string{hadoop, "jar", jar}}, nil
		}
	}
	if mapred != "" {
		return &Client{Command: []string{mapred, "streaming"}}, nil
	}
	if hadoop != "" {
		return nil, fmt.Errorf("%s is there, a jar of Hadoop Streaming (hadoop-streaming-*.jar, in share/hadoop/tools/lib or hadoop-mapreduce) is not: %w", hadoop, ErrNoClient)
	}
	return nil, ErrNoClient
}

// programs finds hadoop and mapred. One of them may be missing.
func (l Lookup) programs(value func(string) string) (hadoop, mapred string, err error) {
	in := func(dir string) bool {
		hadoop, mapred = executable(filepath.Join(dir, "hadoop")), executable(filepath.Join(dir, "mapred"))
		return hadoop != "" || mapred != ""
	}
	if l.Hadoop != "" {
		if info, err := os.Stat(l.Hadoop); err == nil && info.IsDir() {
			if in(filepath.Join(l.Hadoop, "bin")) || in(l.Hadoop) {
				return hadoop, mapred, nil
			}
			return "", "", fmt.Errorf("%s has no bin/hadoop and no bin/mapred: %w", l.Hadoop, ErrNoClient)
		}
		path := executable(l.Hadoop)
		if path == "" {
			return "", "", fmt.Errorf("%s is not a program: %w", l.Hadoop, ErrNoClient)
		}
		if strings.HasPrefix(filepath.Base(path), "mapred") {
			return "", path, nil
		}
		return path, "", nil
	}
	for _, name := range []string{"HADOOP_HOME", "HADOOP_PREFIX"} {
		if home := value(name); home != "" && in(filepath.Join(home, "bin")) {
			return hadoop, mapred, nil
		}
	}
	hadoop, mapred = inPath(value("PATH"), "hadoop"), inPath(value("PATH"), "mapred")
	if hadoop != "" || mapred != "" {
		return hadoop, mapred, nil
	}
	for _, home := range homes {
		if in(filepath.Join(home, "bin")) {
			return hadoop, mapred, nil
		}
	}
	return "", "", nil
}

// streamingJar finds Streaming's jar: the newest in the first place that has any.
func streamingJar(hadoop string, value func(string) string) string {
	var dirs []string
	add := func(home string) {
		if home != "" {
			dirs = append(dirs, filepath.Join(home, "share", "hadoop", "tools", "lib"), home)
		}
	}
	add(value("HADOOP_HOME"))
	add(value("HADOOP_MAPRED_HOME"))
	add(filepath.Dir(filepath.Dir(hadoop)))
	if real, err := filepath.EvalSymlinks(hadoop); err == nil {
		add(filepath.Dir(filepath.Dir(real)))
		dirs = append(dirs, filepath.Join(filepath.Dir(filepath.Dir(real)), "..", "hadoop-mapreduce"))
	}
	dirs = append(dirs, tools...)
	for _, dir := range dirs {
		// A directory's name may contain pattern characters of Glob; such a place is ignored.
		found, _ := filepath.Glob(filepath.Join(dir, "hadoop-streaming*.jar"))
		found = slices.DeleteFunc(found, func(path string) bool {
			name := filepath.Base(path)
			return strings.Contains(name, "sources") || strings.Contains(name, "tests") || strings.Contains(name, "javadoc")
		})
		if len(found) > 0 {
			return slices.Max(found)
		}
	}
	return ""
}

// executable returns the absolute path of a program, empty if there is none.
func executable(path string) string {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
		return ""
	}
	full, _ := filepath.Abs(path)
	return full
}

func inPath(path, name string) string {
	for _, dir := range filepath.SplitList(path) {
		if dir == "" {
			continue // the working directory: skipped
		}
		if full := executable(filepath.Join(dir, name)); full != "" {
			return full
		}
	}
	return ""
}
