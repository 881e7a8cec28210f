package job

import (
	"context"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/spec"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testcluster"
	"bulkload/pkg/hdfsio"
)

// TestRouter reads inputs through a router of router-based federation in front of the NameNode, and through a mount table. It checks that staging and
// HFiles under the router's address are refused, since HBase would copy each file, and that those through a mount table to the NameNode are not.
func TestRouter(t *testing.T) {
	t.Parallel()
	c := testcluster.Shared(t)
	env := jobtest.ClusterEnv(t, c)
	fsys := jobtest.UserFS(t, c, "tina")
	dir := "/tmp/router-" + testcheck.Name(t)
	testcheck.Must(t, fsys.MkdirAll(t.Context(), dir, 0o755))
	t.Cleanup(func() { _ = fsys.RemoveAll(context.WithoutCancel(t.Context()), dir) })
	w, err := fsys.Create(t.Context(), path.Join(dir, "in.csv"), hdfsio.CreateOptions{Perm: 0o644})
	testcheck.Must(t, err)
	_, err = w.Write([]byte("id,v\nk1,1\nk2,2\n"))
	testcheck.Must(t, err)
	testcheck.Must(t, w.Finish())

	router := "hdfs://" + c.Router(t, map[string]string{"/mounted": dir})
	env.Conf.Set("fs.viewfs.mounttable.site.link./data", router+"/mounted", "test")
	env.Conf.Set("fs.viewfs.mounttable.site.link./stage", c.HDFS()+dir, "test")
	testcheck.Eventually(t, time.Minute, "the router serves", func() (bool, any) {
		at, p, err := env.Resolve(router + "/mounted/in.csv")
		testcheck.Must(t, err)
		_, err = at.Stat(t.Context(), p)
		return err == nil, err
	})
	table := jobtest.FreshTable(t, env, 1, nil)
	run := func(input, staging string) error {
		_, err := Run(t.Context(), env, jobtest.Resolve(t, spec.Spec{Table: table, Inputs: []string{input}, Key: "id", Verify: "full"}),
			RunOptions{Staging: staging, State: checkpoint.Options{Dir: t.TempDir()}})
		return err
	}
	for _, input := range []string{router + dir + "/in.csv", router + "/mounted/*.csv", "viewfs://site/data/in.csv"} {
		if err := run(input, ""); err != nil {
			t.Errorf("%s: %v", input, err)
		}
	}
	local := filepath.Join(t.TempDir(), "in.csv")
	testcheck.Must(t, os.WriteFile(local, []byte("id,v\nk3,3\n"), 0o600))
	if err := run(local, "viewfs://site/stage/jobs"); err != nil {
		t.Errorf("staging by a mount table: %v", err)
	}
	if err := run(local, router+"/mounted/jobs"); fail.KindOf(err) != fail.Check || !strings.Contains(err.Error(), "every file would be copied") {
		t.Errorf("staging by the router: %v", err)
	}
	_, err = LoadDir(t.Context(), env, table, router+"/mounted", LoadOptions{RunOptions: RunOptions{State: checkpoint.Options{Dir: t.TempDir()}}})
	if fail.KindOf(err) != fail.Check || !strings.Contains(err.Error(), "it would copy each file while its region is locked") {
		t.Errorf("HFiles by the router: %v", err)
	}
	if out, err := c.AdminT(t).Run(t.Context(), "count", table); err != nil || strings.TrimSpace(out) != "3" {
		t.Errorf("the table has %s rows: %v", out, err)
	}
}
