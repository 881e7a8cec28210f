package preflight

import (
	"strings"
	"testing"

	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/fail"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
)

// haEnv returns an environment whose nameservice is bulk, with two NameNodes.
func haEnv(t *testing.T) *cluster.Env {
	t.Helper()
	env := jobtest.Env(t)
	for key, value := range map[string]string{"dfs.nameservices": "bulk", "dfs.ha.namenodes.bulk": "n1,n2",
		"dfs.namenode.rpc-address.bulk.n1": "192.0.2.1:8020", "dfs.namenode.rpc-address.bulk.n2": "192.0.2.2"} {
		env.Conf.Set(key, value, "test")
	}
	return env
}

// TestAddressOfHBase checks that files under another address than HBase's are refused: on another HDFS, HBase would copy them, and on its own HDFS
// it refuses a NameNode's address in place of the nameservice (DistributedFileSystem.checkPath), and the reverse.
func TestAddressOfHBase(t *testing.T) {
	const copied, refused, doubtful = "every file would be copied", "refuses files by another address", "one server by two names"
	for name, c := range map[string]struct{ root, token, files, check, hint, load string }{
		"nameservice":                {"hdfs://bulk/hbase", "", "hdfs://bulk/d", "", "", ""},
		"a NameNode":                 {"hdfs://bulk/hbase", "", "hdfs://192.0.2.1:8020/d", refused, "hdfs://bulk/d", "hdfs://bulk/d"},
		"a NameNode, without a port": {"hdfs://bulk/hbase", "", "hdfs://192.0.2.2/d", refused, "hdfs://bulk/d", "hdfs://bulk/d"},
		"a NameNode by default":      {"/hbase", "", "hdfs://192.0.2.2/d", refused, "hdfs://bulk/d", "hdfs://bulk/d"},
		"HBase names a nameservice":  {"hdfs://192.0.2.1:8020/hbase", "hdfs://bulk/hbase/staging/x", "hdfs://192.0.2.1:8020/d", refused, "hdfs://bulk/d", ""},
		// The client's configuration need not be HBase's: only the address that HBase gave shows that it has a NameNode's.
		"HBase by a NameNode, it is said":  {"hdfs://192.0.2.1:8020/hbase", "", "hdfs://bulk/d", "", "", ""},
		"HBase by a NameNode":              {"hdfs://192.0.2.1:8020/hbase", "hdfs://192.0.2.1:8020/hbase/staging/x", "hdfs://bulk/d", refused, "hdfs://192.0.2.1:8020/d", ""},
		"HBase by a nameservice, after it": {"hdfs://192.0.2.1:8020/hbase", "hdfs://bulk/hbase/staging/x", "hdfs://bulk/d", "", "", ""},
		"default port and case":            {"hdfs://NN.invalid/hbase", "", "hdfs://nn.invalid:8020/d", "", "", ""},
		"default port and case, reversed":  {"hdfs://nn.invalid:8020/hbase", "hdfs://nn.invalid:8020/hbase/staging/x", "hdfs://NN.invalid/d", "", "", ""},
		"another name of the NameNode":     {"hdfs://localhost:8020/hbase", "hdfs://localhost:8020/hbase/staging/x", "hdfs://127.0.0.1:8020/d", doubtful, "hdfs://localhost:8020/d", ""},
		"another name, it is said":         {"hdfs://localhost:8020/hbase", "", "hdfs://127.0.0.1:8020/d", "", "", ""},
		"another HDFS":                     {"hdfs://bulk/hbase", "", "hdfs://192.0.2.9:8020/d", copied, "hdfs://bulk/d", "it would copy each file"},
		"another port":                     {"hdfs://192.0.2.9:8020/hbase", "", "hdfs://192.0.2.9:8021/d", copied, "hdfs://192.0.2.9:8020/d", "it would copy each file"},
	} {
		t.Run(name, func(t *testing.T) {
			env := haEnv(t)
			env.Conf.Set("fs.defaultFS", "hdfs://bulk", "test")
			env.Conf.Set(cluster.RootDirKey, c.root, "test")
			files, err := env.Conf.Resolve(c.files)
			testcheck.Must(t, err)
			got := checkNameservice(t.Context(), env.Conf, stagingFacts{location: files}, bulkFacts{token: c.token})
			want := map[string]Severity{"": SeverityOK, copied: SeverityError, refused: SeverityError, doubtful: SeverityWarning}[c.check]
			if got.Severity != want || !strings.Contains(got.Message.String(), c.check) || !strings.Contains(got.Hint.String(), c.hint) {
				t.Errorf("check: %+v, want %q and %q", got, c.check, c.hint)
			}
			err = OnHBase(t.Context(), env.Conf, files)
			if (err == nil) != (c.load == "") || err != nil && (fail.KindOf(err) != fail.Check || !strings.Contains(err.Error(), c.load)) {
				t.Errorf("load: %v, want %q", err, c.load)
			}
		})
	}
}
