package hdfsio

import (
	"bytes"
	"fmt"
	"log/slog"
	"testing"

	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testcluster"
	"bulkload/pkg/kerberos"
)

// TestSmallSecured checks that small files use the short protocol on secured clusters too, with several blocks over one
// connection to the DataNode.
func TestSmallSecured(t *testing.T) {
	for _, kind := range []testcluster.Security{
		testcluster.AtLevel(testcluster.Privacy), {EncryptData: true, AES: true},
		testcluster.AtLevel(testcluster.Integrity), testcluster.AtLevel(testcluster.Authentication),
	} {
		t.Run(fmt.Sprintf("%+v", kind), func(t *testing.T) {
			if kind.RPC != testcluster.Privacy {
				testcluster.SecuredAll(t)
			}
			c := testcluster.Secured(t, kind)
			conf, err := LoadConf(func(name string) (string, bool) { return c.ConfDir(), name == "HADOOP_CONF_DIR" })
			testcheck.Must(t, err)
			root, err := conf.Resolve("hdfs:///tmp")
			testcheck.Must(t, err)
			var log bytes.Buffer
			o, err := conf.HDFSOptions(root, slog.New(slog.NewTextHandler(&log, nil)))
			testcheck.Must(t, err)
			if kind.Kerberos {
				krb, err := kerberos.LoadConfig(c.Krb5Conf())
				testcheck.Must(t, err)
				login, err := kerberos.Login(t.Context(), kerberos.Options{Config: krb, Principal: testcluster.Principal(testcluster.Loader), Keytab: c.Keytab(testcluster.Loader)})
				testcheck.Must(t, err)
				defer login.Close()
				o.Security = &Security{Kerberos: login, Principal: conf.Value(keyPrincipal)}
			}
			h, err := NewHDFS(o)
			testcheck.Must(t, err)
			defer h.Close()
			dir := "/tmp/small-" + testcheck.Name(t)
			testcheck.Must(t, h.MkdirAll(t.Context(), dir, 0o755))
			for i := range 5 {
				name, data := fmt.Sprintf("%s/%d", dir, i), noise(50_000*i+1)
				w := interim(t, h, name, data, CreateOptions{BlockSize: 1 << 20})
				if !bytes.Equal(reread(t, w), data) || !bytes.Equal(readFile(t, h, name), data) {
					t.Errorf("%d bytes came back changed", len(data))
				}
				id, _ := FileID(w.(Finished).Info())
				testcheck.Must(t, h.RenameFile(t.Context(), name, name+"-named", id))
			}
			if log.Len() > 0 {
				t.Errorf("not all went the short way: %s", &log)
			}
			if n := h.dfs.Idle(); n != 1 {
				t.Errorf("%d connections to the DataNode are idle", n)
			}
			testcheck.Must(t, h.RemoveAll(t.Context(), dir))
		})
	}
}
