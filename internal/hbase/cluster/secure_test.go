package cluster

import (
	"testing"

	"bulkload/internal/test/testcheck"
	"bulkload/pkg/hdfsio"
)

// TestTokenService checks the name by which region servers look up the token of a file system: with another name they find none.
func TestTokenService(t *testing.T) {
	one := hdfsio.Location{Scheme: "hdfs", Authority: "localhost:8020", Addresses: []string{"LOCALHOST:8020"}}
	two := hdfsio.Location{Scheme: "hdfs", Authority: "nameservice", Addresses: []string{"a:8020", "b:8020"}, Logical: true}
	const provider, proxies = "dfs.client.failover.proxy.provider.ns", "org.apache.hadoop.hdfs.server.namenode.ha."
	located := func(keys map[string]string) hdfsio.Location {
		var conf hdfsio.Conf
		for key, value := range keys {
			conf.Set(key, value, "test")
		}
		l, err := conf.Resolve("hdfs://ns/x")
		testcheck.Must(t, err)
		return l
	}
	for _, c := range []struct {
		l    hdfsio.Location
		byIP bool
		want string
	}{
		{one, true, "127.0.0.1:8020"},
		{one, false, "localhost:8020"},
		{two, true, "ha-hdfs:nameservice"},
		{two, false, "ha-hdfs:nameservice"},
		{located(map[string]string{"dfs.ha.namenodes.ns": "nn1", "dfs.namenode.rpc-address.ns.nn1": "localhost:8020"}), true, "ha-hdfs:ns"},
		{located(map[string]string{"dfs.namenode.rpc-address.ns": "localhost:8020", provider: proxies + "ConfiguredFailoverProxyProvider"}), true, "ha-hdfs:ns"},
		{located(map[string]string{"dfs.namenode.rpc-address.ns": "localhost:8020", provider: proxies + "IPFailoverProxyProvider"}), true, "127.0.0.1:8020"},
		{located(map[string]string{"dfs.namenode.rpc-address.ns": "localhost:8020"}), true, "127.0.0.1:8020"},
	} {
		if got, err := tokenService(t.Context(), c.l, c.byIP); got != c.want || err != nil {
			t.Errorf("%s, %v: %s %v", c.l, c.byIP, got, err)
		}
	}
}
