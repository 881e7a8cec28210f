package cluster_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/fail"
	"bulkload/pkg/hdfsio"
)

// hbaseSite returns a configuration file with some properties, given as key, value, …
func hbaseSite(t *testing.T, properties ...string) *hdfsio.Conf {
	t.Helper()
	var b strings.Builder
	b.WriteString("<configuration>")
	for p := range slices.Chunk(properties, 2) {
		b.WriteString("<property><name>" + p[0] + "</name><value>" + p[1] + "</value></property>")
	}
	b.WriteString("</configuration>")
	name := filepath.Join(t.TempDir(), "hbase-site.xml")
	if err := os.WriteFile(name, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	var conf hdfsio.Conf
	if err := conf.ReadFile(name); err != nil {
		t.Fatal(err)
	}
	return &conf
}

func TestFindRegistry(t *testing.T) {
	const (
		impl      = "hbase.client.registry.impl"
		bootstrap = "hbase.client.bootstrap.servers"
		masters   = "hbase.masters"
		quorum    = "hbase.zookeeper.quorum"
		pkg       = "org.apache.hadoop.hbase.client."
		secure    = "hbase.zookeeper.property.client.secure"
	)
	for name, c := range map[string]struct {
		site []string
		want string // of String; "" if it is refused
		says string // part of the error
	}{
		"nothing":                       {nil, "ZooKeeper ", ""},
		"quorum":                        {[]string{quorum, "zk"}, "ZooKeeper zk:2181", ""},
		"quorum before bootstrap":       {[]string{quorum, "zk", bootstrap, "rs:16020", masters, "m"}, "ZooKeeper zk:2181", ""},
		"bootstrap alone":               {[]string{bootstrap, " rs1:16020, rs2:16020 ,rs1:16020", masters, "m"}, "RPC registry of rs1:16020,rs2:16020 (" + bootstrap + ")", ""},
		"masters alone":                 {[]string{masters, "m1, m2:16001,[::1]"}, "RPC registry of m1:16000,m2:16001,[::1]:16000 (" + masters + ")", ""},
		"asked for RPC":                 {[]string{quorum, "zk", bootstrap, "rs:1", impl, pkg + "RpcConnectionRegistry"}, "RPC registry of rs:1 (" + bootstrap + ")", ""},
		"RPC by masters":                {[]string{quorum, "zk", masters, "m", impl, pkg + "RpcConnectionRegistry"}, "RPC registry of m:16000 (" + masters + ")", ""},
		"RPC by the master's name":      {[]string{"hbase.master.hostname", "m", "hbase.master.port", "7", impl, pkg + "RpcConnectionRegistry"}, "RPC registry of m:7 (hbase.master.hostname)", ""},
		"masters asked for":             {[]string{bootstrap, "rs:1", masters, "m", impl, pkg + "MasterRegistry"}, "RPC registry of m:16000 (" + masters + ")", ""},
		"asked for ZooKeeper":           {[]string{quorum, "zk", bootstrap, "rs:1", impl, pkg + "ZKConnectionRegistry"}, "ZooKeeper zk:2181", ""},
		"ZooKeeper without a quorum":    {[]string{bootstrap, "rs:1", impl, pkg + "ZKConnectionRegistry"}, "ZooKeeper ", ""},
		"RPC without servers":           {[]string{quorum, "zk", impl, pkg + "RpcConnectionRegistry"}, "", bootstrap},
		"bootstrap server without port": {[]string{bootstrap, "rs"}, "", `"rs" is not host:port`},
		"no server in the list":         {[]string{bootstrap, " , "}, "", "names no server"},
		"ZooKeeper by TLS":              {[]string{quorum, "zk", secure, "True"}, "", "set hbase.client.registry.impl to org.apache.hadoop.hbase.client.RpcConnectionRegistry"},
		"RPC, and ZooKeeper by TLS":     {[]string{quorum, "zk", secure, "true", bootstrap, "rs:1", impl, pkg + "RpcConnectionRegistry"}, "RPC registry of rs:1 (" + bootstrap + ")", ""},
		"ZooKeeper without TLS":         {[]string{quorum, "zk", secure, "false"}, "ZooKeeper zk:2181", ""},
		"a registry of one's own":       {[]string{quorum, "zk", impl, "com.example.OwnRegistry"}, "", "com.example.OwnRegistry"},
	} {
		got, err := cluster.FindRegistry(hbaseSite(t, c.site...))
		if c.want == "" {
			if err == nil || fail.KindOf(err) != fail.Config || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s: %v, error %v", name, got, err)
			}
			continue
		}
		if err != nil || described(got) != c.want {
			t.Errorf("%s: %q, %v", name, described(got), err)
		}
		if got.Masters != strings.Contains(got.Key, "master") {
			t.Errorf("%s: masters is %v of %s", name, got.Masters, got.Key)
		}
	}

	// A quorum named for the job takes precedence over the files.
	conf := hbaseSite(t, bootstrap, "rs:1", impl, pkg+"RpcConnectionRegistry", quorum, "zk")
	conf.Set(quorum, "other:2182", "test")
	if got, err := cluster.FindRegistry(conf); err != nil || got.Quorum != "other:2182" {
		t.Errorf("%v, %v", got, err)
	}
}

// described describes a registry.
func described(r cluster.Registry) string {
	if len(r.Servers) > 0 {
		return fmt.Sprintf("RPC registry of %s (%s)", strings.Join(r.Servers, ","), r.Key)
	}
	return "ZooKeeper " + r.Quorum
}
