package job

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/spec"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testcluster"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/hfile"
	"bulkload/pkg/loader"
)

// TestEncryptedFamily loads a table with a plain family and one that HBase encrypts (AES, a key provider of Java's key stores). The plain one is
// loaded and verified by its files; for the other one, and for a file of it that HBase has written, the error is unsupported, not damaged.
func TestEncryptedFamily(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a cluster")
	}
	store := filepath.Join(t.TempDir(), "keys.jceks")
	out, err := exec.CommandContext(t.Context(), "keytool", "-genseckey", "-keystore", store, "-storetype", "jceks", "-storepass", "secret",
		"-keypass", "secret", "-keyalg", "AES", "-keysize", "128", "-alias", "master").CombinedOutput()
	if err != nil {
		t.Fatalf("keytool: %v\n%s", err, out)
	}
	c, err := testcluster.Start(t.Context(), testcluster.Options{HBaseSite: map[string]string{
		"hbase.crypto.keyprovider":            "org.apache.hadoop.hbase.io.crypto.KeyStoreKeyProvider",
		"hbase.crypto.keyprovider.parameters": "jceks://" + store + "?password=secret",
		"hbase.crypto.master.key.name":        "master",
	}})
	testcheck.Must(t, err)
	t.Cleanup(func() { testcheck.Must(t, c.Stop()) })
	env := jobtest.ClusterEnv(t, c)
	conn, err := env.Dial(t.Context())
	testcheck.Must(t, err)
	name := loader.TableName{Namespace: "test", Qualifier: testcheck.Name(t)}
	jobtest.MakeTable(t, env, conn, loader.TableSpec{Name: name, CreateNamespace: true, Families: []loader.Family{
		{Name: "f", Compression: "SNAPPY", Encoding: "FAST_DIFF", Bloom: "ROW"},
		{Name: "g", Compression: "NONE", Encoding: "NONE", Bloom: "ROW", Attributes: map[string]string{"ENCRYPTION": "AES"}},
	}})
	testcheck.Must(t, conn.Close())
	for _, args := range [][]string{{"put", name.String(), "r1", "g:q", "secret"}, {"flush", name.String()}} {
		_, err := c.AdminT(t).Run(t.Context(), args...)
		testcheck.Must(t, err)
	}
	in := filepath.Join(t.TempDir(), "in.csv")
	testcheck.Must(t, os.WriteFile(in, []byte("id,v\nk1,1\nk2,2\n"), 0o600))
	run := func(family string) error {
		_, err := Run(t.Context(), env, jobtest.Resolve(t, spec.Spec{Table: name.String(), Family: family, Inputs: []string{in}, Key: "id", Verify: "files"}),
			RunOptions{State: checkpoint.Options{Dir: t.TempDir()}})
		return err
	}
	if err := run("f"); err != nil {
		t.Errorf("the plain family: %v", err)
	}
	refused := func(what string, err error, kind fail.Kind, text string) {
		t.Helper()
		if err == nil || fail.KindOf(err) != kind || !strings.Contains(err.Error(), text) || !errors.Is(err, hfile.ErrUnsupported) || strings.Contains(err.Error(), "damaged") {
			t.Errorf("%s: %v", what, err)
		}
	}
	refused("the encrypted family", run("g"), fail.Check, "encryption AES")

	file := encryptedFile(t, c, name)
	if res := hfile.Check(bytes.NewReader(file), int64(len(file)), hfile.CheckOptions{}); res.OK || !res.Unsupported {
		t.Errorf("check of an encrypted file: %+v", res)
	}
	dir := t.TempDir()
	testcheck.Must(t, os.Mkdir(filepath.Join(dir, "g"), 0o700))
	testcheck.Must(t, os.WriteFile(filepath.Join(dir, "g", "0123456789abcdef0123456789abcdef"), file, 0o600))
	_, err = LoadDir(t.Context(), env, name.String(), dir, LoadOptions{RunOptions: RunOptions{State: checkpoint.Options{Dir: t.TempDir()}}})
	refused("an encrypted file", err, fail.Input, "encrypted hfile")
}

// encryptedFile returns the one store file of family g.
func encryptedFile(t *testing.T, c *testcluster.Cluster, table loader.TableName) []byte {
	t.Helper()
	fsys := jobtest.UserFS(t, c, "hbase")
	root := path.Join("/hbase/data", table.Namespace, table.Qualifier)
	regions, err := fsys.ReadDir(t.Context(), root)
	testcheck.Must(t, err)
	for _, r := range regions {
		dir := path.Join(root, r.Name(), "g")
		files, err := fsys.ReadDir(t.Context(), dir)
		if err != nil || len(files) == 0 {
			continue
		}
		return readFile(t, fsys, path.Join(dir, files[0].Name()))
	}
	t.Fatal("family g has no file")
	return nil
}

func readFile(t *testing.T, fsys hdfsio.FS, name string) []byte {
	t.Helper()
	f, err := fsys.Open(t.Context(), name)
	testcheck.Must(t, err)
	defer f.Close()
	b, err := io.ReadAll(f)
	testcheck.Must(t, err)
	return b
}
