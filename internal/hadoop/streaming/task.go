package streaming

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"unicode"
)

// ErrNoTask means that the process does not run in a task of Hadoop Streaming.
var ErrNoTask = errors.New("not started by Hadoop Streaming")

// JobFile is the name of the job's configuration file in a task's working directory: the client's core-site.xml,
// hdfs-site.xml and mapred-site.xml combined with the job's settings.
const JobFile = "job.xml"

// Task describes the task that the program runs in.
type Task struct {
	Attempt string // attempt_…_r_000007_1
	Map     bool   // otherwise a reduce
	Number  int    // the task's number, from 0; the partition of a reduce
	Try     int    // the attempt's number, from 0
	Reduces int    // of the job
	// Output is the directory that this attempt writes to. Its files are moved to Root if the attempt is committed. Both
	// are URIs with scheme and authority.
	Output, Root string
	// LocalDirs are directories on the node's disks, which are removed with the application.
	LocalDirs []string
	// User is the user that submitted the job: the HDFS user without authentication. The process may run as another user.
	User string
	// TokenFile is the path of the file with the delegation tokens.
	TokenFile string
}

var attemptName = regexp.MustCompile(`^attempt_[0-9]{1,19}_[0-9]{1,10}_([mr])_([0-9]{1,9})_([0-9]{1,9})$`)

// TaskFrom reads the task from the environment; env works like os.LookupEnv. Without an attempt the error is ErrNoTask.
func TaskFrom(env func(name string) (string, bool)) (Task, error) {
	value := func(name string) string { v, _ := env(name); return v }
	t := Task{
		Attempt: value("mapreduce_task_attempt_id"),
		Output:  value("mapreduce_task_output_dir"), Root: value("mapreduce_output_fileoutputformat_outputdir"),
		TokenFile: value("HADOOP_TOKEN_FILE_LOCATION"),
	}
	if t.Attempt == "" {
		return Task{}, fmt.Errorf("%w: mapreduce_task_attempt_id is not set", ErrNoTask)
	}
	m := attemptName.FindStringSubmatch(t.Attempt)
	if m == nil {
		return Task{}, fmt.Errorf("mapreduce_task_attempt_id is %q, no id of an attempt", t.Attempt)
	}
	t.Map = m[1] == "m"
	t.Number, _ = strconv.Atoi(m[2]) // at most nine digits: valid
	t.Try, _ = strconv.Atoi(m[3])
	if p := value("mapreduce_task_partition"); p != "" && p != strconv.Itoa(t.Number) {
		return Task{}, fmt.Errorf("mapreduce_task_partition is %q in %s", p, t.Attempt)
	}
	var err error
	if t.Reduces, err = strconv.Atoi(value("mapreduce_job_reduces")); err != nil || t.Reduces < 0 {
		return Task{}, fmt.Errorf("mapreduce_job_reduces is %q, no number of tasks", value("mapreduce_job_reduces"))
	}
	if !t.Map && t.Number >= t.Reduces {
		return Task{}, fmt.Errorf("mapreduce_job_reduces is %d in %s", t.Reduces, t.Attempt)
	}
	for name, at := range map[string]string{"mapreduce_task_output_dir": t.Output, "mapreduce_output_fileoutputformat_outputdir": t.Root} {
		if u, err := url.Parse(at); err != nil || u.Scheme == "" || !strings.HasPrefix(u.Path, "/") {
			return Task{}, fmt.Errorf("%s is %q, no URI of a directory", name, at)
		}
	}
	for dir := range strings.SplitSeq(value("LOCAL_DIRS"), ",") {
		if filepath.IsAbs(dir) {
			t.LocalDirs = append(t.LocalDirs, dir)
		}
	}
	// This is the order of Hadoop's own clients.
	t.User = cmp.Or(value("HADOOP_USER_NAME"), value("mapreduce_job_user_name"), value("USER"))
	return t, nil
}

// maxStatus limits a status, in bytes. Hadoop truncates one longer than mapreduce.task.max.status.length, 512.
const maxStatus = 500

// Status reports the attempt's status on its standard error. It counts as progress: an attempt that reports nothing, and
// neither reads nor writes records, for mapreduce.task.timeout is killed. Control characters are replaced by spaces.
func Status(w io.Writer, text string) error {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text)
	if len(text) > maxStatus {
		text = strings.ToValidUTF8(text[:maxStatus], "")
	}
	return line(w, "reporter:status:"+text)
}

// Count adds n to a counter of the job. Counters of failed attempts are ignored, and those of a reduce without any record
// are lost, so the result must not depend on them. Group and name must not contain commas or control characters.
func Count(w io.Writer, group, name string, n int64) error {
	for _, word := range []string{group, name} {
		if word == "" || strings.ContainsFunc(word, func(r rune) bool { return r == ',' || unicode.IsControl(r) }) {
			return fmt.Errorf("%q cannot name a counter", word)
		}
	}
	return line(w, "reporter:counter:"+group+","+name+","+strconv.FormatInt(n, 10))
}

// line writes a line in one call, so that lines of several goroutines do not mix.
func line(w io.Writer, text string) error {
	_, err := io.WriteString(w, text+"\n")
	return err
}
