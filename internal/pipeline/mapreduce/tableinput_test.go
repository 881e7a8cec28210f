package mapreduce

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/share"
	"bulkload/internal/pipeline/tablesource"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testsnapshot"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/hfile"
)

// pipedInput is an input that is a table.
const pipedInput = "hbase:n:t"

// pipedTable assigns new keys to the rows of a table. Rows of several regions share each new key.
func pipedTable(t *testing.T) pipedJob {
	t.Helper()
	table := testsnapshot.New(t, testsnapshot.Options{FS: hdfsio.Local{}, Root: t.TempDir(), Table: "n:t", Splits: []string{"00700", "02000"}, HFiles: hfile.Options{BlockSize: 1 << 10}})
	var cells []hfile.Cell
	for i := range 3000 {
		row := fmt.Sprintf("%05d", i)
		cells = append(cells, testsnapshot.Put(row, "f", "k", 5, fmt.Sprintf("%03d", i*7%997)), testsnapshot.Put(row, "f", "v", 5, "value of "+row))
	}
	table.Load(3, cells...)
	table.Save()
	s := spec.Spec{Table: "u", Key: "k", Columns: []string{"k", "v", "$row"}, Inputs: []string{pipedInput}, Duplicates: "last", Timestamp: 1700000000000}
	return pipedJob{spec: s, shapes: shapesOf([][]byte{[]byte("2"), []byte("21"), []byte("7")}), root: table.Root}
}

// env returns the environment of the planning process: it has taken a snapshot of the table, and cuts regions into small parts.
func (j pipedJob) env(t *testing.T) *cluster.Env {
	t.Helper()
	env := jobtest.Env(t)
	if j.root != "" {
		ref, _, err := tablesource.Parse(pipedInput)
		testcheck.Must(t, err)
		files := tablesource.NewFiles(hdfsio.Local{}, j.root, "s", ref, nil)
		files.PartBytes = 10 << 10
		env.Mount(pipedInput, files, files.Dir())
	}
	return env
}

// TestJobOfATable checks that tasks get tokens for the file system of HBase's root directory, and its location.
func TestJobOfATable(t *testing.T) {
	env := jobtest.Env(t)
	env.Conf.Set(cluster.RootDirKey, "hdfs://nn1:8020/hbase", "test")
	w := &Work{Plan: &share.Plan{Job: spec.Spec{Inputs: []string{"snapshot:s", "hdfs://nn2:8020/in", "hbase:t"}}}}
	j := (&Engine{Env: env}).job(w, hdfsio.Location{Scheme: "hdfs", Authority: "nn1:8020", Path: "/job"}, "bulkload")
	if want := []string{"hdfs://nn1:8020", "hdfs://nn2:8020"}; !slices.Equal(j.FileSystems, want) || j.Properties[cluster.RootDirKey] != "hdfs://nn1:8020/hbase" {
		t.Errorf("file systems %q, properties %q", j.FileSystems, j.Properties)
	}
}

// TestRefuseTables checks that tables that nodes cannot read are refused by name.
func TestRefuseTables(t *testing.T) {
	for _, c := range []struct{ root, readBy, want string }{
		{"hdfs://nn1:8020/hbase", "", ""},
		{"hdfs://nn1:8020/hbase", "auto", ""},
		{"hdfs://nn1:8020/hbase", "scan", "input hbase:t: tasks on YARN read the files of a table and cannot scan it"},
		{"file:///hbase", "", "hbase:t is local"},
		{"/hbase", "", ""},
		{"", "files", "hbase.rootdir is not configured: the files of input hbase:t are below it"},
	} {
		env := jobtest.Env(t)
		env.Conf.Set("fs.defaultFS", "hdfs://nn1:8020", "test")
		if c.root != "" {
			env.Conf.Set(cluster.RootDirKey, c.root, "test")
		}
		err := RefuseInputs(env, jobtest.Resolve(t, spec.Spec{Key: "k", Inputs: []string{"hbase:t"}, ReadBy: c.readBy}))
		if (err == nil) != (c.want == "") || err != nil && (fail.KindOf(err) != fail.Config || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// TestRefuseObjects checks that inputs in object stores are refused unless they have keys of S3's protocol, which nodes get.
func TestRefuseObjects(t *testing.T) {
	if err := RefuseInputs(jobtest.Env(t), jobtest.Resolve(t, spec.Spec{Key: "k", Inputs: []string{"s3://b/x", "oss://b/x"}})); err != nil {
		t.Error(err)
	}
	err := RefuseInputs(jobtest.Env(t), jobtest.Resolve(t, spec.Spec{Key: "k", Inputs: []string{"s3://b/x", "gs://b/x"}}))
	if want := "input gs://b/x: only keys of S3's protocol go to nodes"; fail.KindOf(err) != fail.Config || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %q", err, want)
	}
}
