package main

import (
	"os"
	"path/filepath"
	"testing"

	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/model/spec"
	"bulkload/internal/test/jobtest"
)

// TestListedInputsAreTheJob checks that the entries of a list are part of the job's identity: a resumed job may get them from a list of
// another name, but not other inputs from the same list.
func TestListedInputsAreTheJob(t *testing.T) {
	env := jobtest.Env(t)
	identity := func(s spec.Spec) checkpoint.Identity {
		s.Table, s.Key = "t", "id"
		j := jobtest.Resolve(t, s)
		if err := listInputs(t.Context(), env, &j); err != nil {
			t.Fatal(err)
		}
		if j.InputsFrom != "" {
			t.Error("the list is still there")
		}
		id, err := checkpoint.Identify(env, j, "")
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	listed := func(name, text string) checkpoint.Identity {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return identity(spec.Spec{InputsFrom: path})
	}
	want := identity(spec.Spec{Inputs: []string{"/a", "/b"}})
	if got := listed("one", "# both\n/a\n/b\n"); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := listed("two", "\n/a\r\n/b"); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := listed("one", "/a\n/c\n"); got.Old == want.Old {
		t.Error("another input is the same job")
	}
}

// TestPathsOfOneCluster checks that a path on HDFS belongs to one file system with and without the cluster's name, so that a file that is
// given in both forms is recognised as one.
func TestPathsOfOneCluster(t *testing.T) {
	env := jobtest.Env(t)
	env.Conf.Set("fs.defaultFS", "hdfs://namenode:8020", "test")
	env.Conf.Set("hadoop.security.authentication", "simple", "test")
	at, name, err := env.Source("hdfs://namenode:8020/in/a.csv")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"hdfs:///in/a.csv", "hdfs:/in/a.csv", "hdfs://namenode/in/a.csv", "HDFS://namenode/in//./a.csv", "hdfs://namenode:8020/in/b/../a.csv"} {
		if other, n, err := env.Source(path); err != nil || other != at || n != name {
			t.Errorf("%s: %s, %v", path, n, err)
		}
	}
}
