package streaming

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Job is a MapReduce job whose tasks run a program. A map task gets one line of Input on its standard input and
// writes rawbytes records. A reduce task reads such records in key order and writes its output as files below [Task.Output].
type Job struct {
	Name string
	// Queue is the YARN queue. Empty: the cluster's default.
	Queue string
	// Tags identify the application for later searches: lower-case letters, digits, . _ and -.
	Tags []string

	// Input is a file of lines and Output a directory that does not exist, both URIs.
	Input, Output string
	// Reduces is the number of reduce tasks, at least 1. Partitions is the URI of the file of [WritePartitions], required
	// with more than one reduce task.
	Reduces    int
	Partitions string

	// Files are placed in the tasks' working directory.
	Files []File
	// Mapper and Reducer are commands: the name of a file, and its arguments, which must not contain spaces or quotes.
	Mapper, Reducer []string
	// Env is set for the tasks. It is visible on command lines, so it must not contain secrets.
	Env map[string]string

	// MapMemoryMB and ReduceMemoryMB are the sizes of containers, in MiB, which must hold a JVM and the program.
	// MapHeapMB and ReduceHeapMB are the heap sizes of the JVMs. 0: the cluster's default.
	MapMemoryMB, ReduceMemoryMB int
	MapHeapMB, ReduceHeapMB     int
	MapCores, ReduceCores       int

	// MaxAttempts is the maximum number of attempts of a task. Default: the cluster's, 4 with Hadoop's defaults.
	MaxAttempts int
	// FileSystems are URIs of further file systems that tasks need tokens for, besides those of Input and Output.
	FileSystems []string
	// Secrets are passed to tasks in their token file, by name. They are not written to a file on the client's host, nor to a
	// property.
	Secrets map[string][]byte
	// Properties override all others. They are passed in a file that only the user can read.
	Properties map[string]string
}

// File is a file in the tasks' working directory.
type File struct {
	// Path is a local path, which is uploaded with each job, or a URI of a file that every node can read.
	Path string
	// Name is the file's name in the working directory.
	Name string
}

var (
	plainName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)
	plainWord = regexp.MustCompile(`^[A-Za-z0-9%+,./:=@_-]+$`)
	tagName   = regexp.MustCompile(`^[a-z0-9._-]{1,100}$`)
	envName   = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,99}$`)
	secret    = regexp.MustCompile(`(?i)passw|secret|token|keytab|credential|private`)
)

// jvm returns options suited to small JVMs that only move records.
func jvm(heapMB int) string {
	return fmt.Sprintf("-Xmx%dm -XX:+UseSerialGC -XX:TieredStopAtLevel=1", heapMB)
}

// Validate returns the first error that Hadoop would report late, or misinterpret.
func (j Job) Validate() error {
	switch {
	case j.Name == "" || strings.ContainsAny(j.Name, "\n\r"):
		return fmt.Errorf("a job's name is %q: one line is needed", j.Name)
	case j.Queue != "" && !plainWord.MatchString(j.Queue):
		return fmt.Errorf("%q is not a queue name", j.Queue)
	case j.Reduces < 1:
		return fmt.Errorf("%d reduce tasks: at least 1 is needed", j.Reduces)
	case j.Reduces > 1 && j.Partitions == "":
		return fmt.Errorf("%d reduce tasks and no partition file", j.Reduces)
	case j.MaxAttempts < 0:
		return fmt.Errorf("a number of the job is negative")
	}
	for what, uri := range map[string]string{"input": j.Input, "output": j.Output} {
		if !plainWord.MatchString(uri) {
			return fmt.Errorf("the job's %s is %q: a URI without spaces, commas and quotes is needed", what, uri)
		}
	}
	if strings.ContainsAny(j.Input+j.Output, ",") {
		return fmt.Errorf("the job's input or output has a comma, which Hadoop takes for two paths")
	}
	for _, uri := range append(slices.Clone(j.FileSystems), j.Partitions) {
		if uri != "" && (!plainWord.MatchString(uri) || strings.Contains(uri, ",")) {
			return fmt.Errorf("%q is not a URI that Hadoop takes", uri)
		}
	}
	for _, tag := range j.Tags {
		if !tagName.MatchString(tag) {
			return fmt.Errorf("%q cannot be a tag: lower-case letters, digits, . _ and -, 100 at most", tag)
		}
	}
	names := map[string]bool{}
	for _, f := range j.Files {
		if !plainName.MatchString(f.Name) || names[f.Name] {
			return fmt.Errorf("%q cannot be the name of a file of the job, or is given twice", f.Name)
		}
		names[f.Name] = true
		if !plainWord.MatchString(f.Path) || strings.Contains(f.Path, ",") {
			return fmt.Errorf("the path of %s has a character that Hadoop does not take in a list of files: link it elsewhere", f.Name)
		}
	}
	for what, command := range map[string][]string{"mapper": j.Mapper, "reducer": j.Reducer} {
		if len(command) == 0 {
			return fmt.Errorf("the job has no %s", what)
		}
		for _, word := range command {
			if !plainWord.MatchString(word) {
				return fmt.Errorf("the %s has the word %q: Streaming splits a command at spaces and quotes", what, word)
			}
		}
	}
	for name, value := range j.Env {
		if !envName.MatchString(name) || strings.ContainsAny(value, " \t\r\n\x00") {
			return fmt.Errorf("the variable %q of the job: a name, and a value without spaces, are needed", name)
		}
		if secret.MatchString(name) {
			return fmt.Errorf("the variable %s of the job would be seen on command lines", name)
		}
	}
	return nil
}

// properties returns the properties that the job sets, in a fixed order.
func (j Job) properties() [][2]string {
	var all [][2]string
	set := func(key, value string) { all = append(all, [2]string{key, value}) }
	number := func(key string, n int) {
		if n > 0 {
			set(key, strconv.Itoa(n))
		}
	}
	set("mapreduce.job.name", j.Name)
	if j.Queue != "" {
		set("mapreduce.job.queuename", j.Queue)
	}
	if len(j.Tags) > 0 {
		set("mapreduce.job.tags", strings.Join(j.Tags, ","))
	}
	set("mapreduce.job.reduces", strconv.Itoa(j.Reduces))
	set("mapreduce.input.lineinputformat.linespermap", "1")
	// Input is lines, records are rawbytes. Option -io would set all four and pass framed Writables to maps.
	set("stream.map.input", "text")
	set("stream.map.input.ignoreKey", "true")
	set("stream.map.output", "rawbytes")
	set("stream.reduce.input", "rawbytes")
	if j.Reduces > 1 {
		set("mapreduce.totalorderpartitioner.path", j.Partitions)
		// The default's trie sends keys with a byte 0xff to the wrong reduce.
		set("mapreduce.totalorderpartitioner.naturalorder", "false")
	}
	// Algorithm version 2 would leave the files of a failed job in its output.
	set("mapreduce.fileoutputcommitter.algorithm.version", "1")
	set("mapreduce.fileoutputcommitter.marksuccessfuljobs", "true")
	// Reduces that wait for maps would occupy containers that maps need.
	set("mapreduce.job.reduce.slowstart.completedmaps", "1.0")
	for _, kind := range []string{"map", "reduce"} {
		// There is no second attempt of slow tasks, so that everything is written once.
		set("mapreduce."+kind+".speculative", "false")
		number("mapreduce."+kind+".maxattempts", j.MaxAttempts)
	}
	number("mapreduce.map.memory.mb", j.MapMemoryMB)
	number("mapreduce.reduce.memory.mb", j.ReduceMemoryMB)
	number("mapreduce.map.cpu.vcores", j.MapCores)
	number("mapreduce.reduce.cpu.vcores", j.ReduceCores)
	if j.MapHeapMB > 0 {
		set("mapreduce.map.java.opts", jvm(j.MapHeapMB))
	}
	if j.ReduceHeapMB > 0 {
		set("mapreduce.reduce.java.opts", jvm(j.ReduceHeapMB))
	}
	// A small record buffer: records are few and large, and one that does not fit is written separately.
	set("mapreduce.task.io.sort.mb", "64")
	// The cluster's default may be compression.
	set("mapreduce.map.output.compress", "false")
	if len(j.FileSystems) > 0 {
		set("mapreduce.job.hdfs-servers", strings.Join(j.FileSystems, ","))
	}
	return all
}

// Args returns the arguments after the client's command. propertyFile is the path of the file with Properties, if there are any.
func (j Job) Args(propertyFile string) ([]string, error) {
	if err := j.Validate(); err != nil {
		return nil, err
	}
	var args []string
	// Generic options must precede Streaming's. If both set a property, -D wins.
	if propertyFile != "" {
		args = append(args, "-conf", propertyFile)
	}
	for _, p := range j.properties() {
		if _, over := j.Properties[p[0]]; !over {
			args = append(args, "-D", p[0]+"="+p[1])
		}
	}
	if len(j.Files) > 0 {
		files := make([]string, len(j.Files))
		for i, f := range j.Files {
			path := f.Path
			if !strings.Contains(path, "://") {
				full, err := filepath.Abs(path)
				if err != nil {
					return nil, err
				}
				path = full
			}
			files[i] = path + "#" + f.Name
		}
		args = append(args, "-files", strings.Join(files, ","))
	}
	args = append(args,
		"-inputformat", "org.apache.hadoop.mapred.lib.NLineInputFormat",
		"-outputformat", "org.apache.hadoop.mapred.lib.NullOutputFormat")
	if j.Reduces > 1 {
		args = append(args, "-partitioner", "org.apache.hadoop.mapred.lib.TotalOrderPartitioner")
	}
	args = append(args, "-input", j.Input, "-output", j.Output,
		"-mapper", strings.Join(j.Mapper, " "), "-reducer", strings.Join(j.Reducer, " "))
	for _, name := range slices.Sorted(maps.Keys(j.Env)) {
		args = append(args, "-cmdenv", name+"="+j.Env[name])
	}
	return append(args, "-background"), nil
}

// MaxSplitKey is the maximum length of a key in the partition file, in bytes: HBase's limit of a row key.
const MaxSplitKey = 1<<15 - 1

// partitionHead precedes the keys. The sync marker can be any 16 bytes; it does not occur between so few records.
const partitionHead = "SEQ\x06" +
	"\x22org.apache.hadoop.io.BytesWritable" +
	"\x21org.apache.hadoop.io.NullWritable" +
	"\x00\x00" + "\x00\x00\x00\x00" +
	"bulkload-split-1"

// WritePartitions writes the partition file of Hadoop's TotalOrderPartitioner: the first key of every reduce except the
// first, strictly rising as unsigned bytes. A job of R reduces has R−1 keys; Hadoop compares the numbers, and with one
// reduce opens no file. The partitioner must search by comparison, as [Job] configures it: Hadoop's default is a trie that
// sends keys with a byte 0xff to the wrong reduce.
func WritePartitions(w io.Writer, keys [][]byte) error {
	out := []byte(partitionHead)
	for i, key := range keys {
		if len(key) > MaxSplitKey {
			return fmt.Errorf("split key %d of %d has %d bytes, more than %d", i+1, len(keys), len(key), MaxSplitKey)
		}
		if i > 0 && bytes.Compare(keys[i-1], key) >= 0 {
			return fmt.Errorf("split key %d of %d is not above the one before", i+1, len(keys))
		}
		n := uint32(len(key))
		out = binary.BigEndian.AppendUint32(out, 4+n)
		out = binary.BigEndian.AppendUint32(out, 4+n)
		out = binary.BigEndian.AppendUint32(out, n)
		out = append(out, key...)
	}
	_, err := w.Write(out)
	return err
}
