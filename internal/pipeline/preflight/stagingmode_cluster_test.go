package preflight

import (
	"context"
	"strings"
	"testing"

	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testcluster"
)

// TestStagingMode gives HBase's staging directory the mode that old versions created it with under a umask of 077 (HBASE-26985): the check
// names the mode and the command, and finds nothing after the command.
func TestStagingMode(t *testing.T) {
	c := testcluster.Own(t, testcluster.Options{})
	fsys := jobtest.UserFS(t, c, "hbase")
	testcheck.Must(t, fsys.Chmod(t.Context(), "/hbase/staging", 0o700))
	t.Cleanup(func() { testcheck.Must(t, fsys.Chmod(context.WithoutCancel(t.Context()), "/hbase/staging", 0o711)) })
	env := jobtest.ClusterEnv(t, c)
	s := jobtest.Spec(t, "check")
	s.Table, s.Inputs = jobtest.FreshTable(t, env, 1, nil), []string{jobtest.Export(t, "check.csv")}
	const check = "hbase staging"
	if found, _ := preflight(t, env, s, Options{}).Find(check); found.Severity != SeverityError || !strings.Contains(found.Message.String(), "has mode 0700") ||
		!strings.Contains(found.Hint.String(), "hdfs dfs -chmod 711 "+c.HDFS()+"/hbase/staging as hbase") {
		t.Errorf("%+v", found)
	}
	testcheck.Must(t, fsys.Chmod(t.Context(), "/hbase/staging", 0o711))
	if found, _ := preflight(t, env, s, Options{}).Find(check); found.Severity != SeverityOK {
		t.Errorf("%+v", found)
	}
}
