package cluster

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/internal/model/fail"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/hdfsio"
)

// TestOtherIdentity checks that the login at another cluster is either entirely from its configuration, or else the command's.
func TestOtherIdentity(t *testing.T) {
	command := Identity{Principal: "tina@A", Cache: "/tmp/tina"}
	for _, x := range []struct {
		name, properties string
		want             Identity
		refusal          string
	}{
		{"none", "", command, ""},
		{"both", property(keyClientPrincipal, "etl@B") + property(keyClientKeytab, "/etc/etl.keytab"), Identity{Principal: "etl@B", Keytab: "/etc/etl.keytab"}, ""},
		{"principal", property(keyClientPrincipal, "etl@B"), Identity{}, "hbase-site.xml lacks " + keyClientKeytab},
		{"keytab", property(keyClientKeytab, "/etc/etl.keytab"), Identity{}, "hbase-site.xml lacks " + keyClientPrincipal},
	} {
		t.Run(x.name, func(t *testing.T) {
			dir := t.TempDir()
			site := "<configuration>" + property("hbase.zookeeper.quorum", "zk") + x.properties + "</configuration>"
			testcheck.Must(t, os.WriteFile(filepath.Join(dir, "hbase-site.xml"), []byte(site), 0o644))
			e := &Env{Conf: &hdfsio.Conf{}, Identity: command}
			other, err := e.Other(dir)
			if x.refusal != "" {
				if err == nil || fail.KindOf(err) != fail.Config || !strings.Contains(err.Error(), x.refusal) {
					t.Fatalf("%v, want %s", err, x.refusal)
				}
				return
			}
			testcheck.Must(t, err)
			if other.Identity != x.want || e.Identity != command {
				t.Errorf("%+v and %+v, want %+v", other.Identity, e.Identity, x.want)
			}
		})
	}
}

func property(key, value string) string {
	return "<property><name>" + key + "</name><value>" + value + "</value></property>"
}
