package cluster

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"testing"
	"time"

	"bulkload/internal/hadoop/kms"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testcluster"
	"bulkload/pkg/hdfsio"

	"github.com/colinmarc/hdfs/v2"
)

// TestTwoKMS runs two key servers and stops one of them: the other returns the data keys of files. It also uses a server with TLS
// only, whose certificate is in the trust store of ssl-client.xml.
func TestTwoKMS(t *testing.T) {
	if testing.Short() {
		t.Skip("starts servers")
	}
	c := testcluster.Own(t, testcluster.Options{WithoutHBase: true, KMS: true, HDFSSite: map[string]string{"dfs.blocksize": "1048576"},
		Zones: map[string]string{"/zone": testcluster.ZoneKey, "/denied": testcluster.DeniedKey}})
	conf, err := hdfsio.LoadConf(func(name string) (string, bool) {
		return map[string]string{"HADOOP_CONF_DIR": c.ConfDir(), "HADOOP_USER_NAME": "hbase"}[name], true
	})
	testcheck.Must(t, err)
	env := &Env{Conf: conf, Log: slog.New(slog.DiscardHandler)}
	t.Cleanup(func() { testcheck.Must(t, env.Close()) })
	var keys []kms.EncryptedKey
	for i := range 3 {
		keys = append(keys, keyOf(t, env, fmt.Sprintf("/zone/%s-%d", testcheck.Name(t), i)))
	}
	want := func(client *kms.Client) (list [][]byte) {
		t.Helper()
		defer client.Close()
		for _, k := range keys {
			key, err := client.DataKey(t.Context(), k)
			testcheck.Must(t, err)
			list = append(list, key)
		}
		return list
	}
	ask := func(address string, change func(*kms.Options)) *kms.Client {
		t.Helper()
		servers, err := kms.ParseAddress(address)
		testcheck.Must(t, err)
		o := kms.Options{Servers: servers, User: "hbase"}
		if change != nil {
			change(&o)
		}
		return kms.New(o)
	}
	port := c.Ports().KMS
	one := want(ask(fmt.Sprintf("kms://http@localhost:%d/kms", port), nil))
	same := func(what string, got [][]byte) {
		t.Helper()
		for i := range one {
			if !bytes.Equal(got[i], one[i]) {
				t.Errorf("%s gives another key of file %d", what, i)
			}
		}
	}
	serves := func(client func() *kms.Client) {
		t.Helper()
		testcheck.Eventually(t, time.Minute, "the KMS serves", func() (bool, any) {
			asked := client()
			defer asked.Close()
			_, err := asked.DataKey(t.Context(), keys[0])
			return err == nil, err
		})
	}
	second, _ := c.SecondKMS(t, "127.0.0.2", false)
	serves(func() *kms.Client { return ask(second, nil) })
	testcheck.Must(t, c.Daemon(testcluster.KMS).Kill(t.Context()))
	same("the second server", want(ask(fmt.Sprintf("kms://http@localhost;127.0.0.2:%d/kms", port), nil)))

	encrypted, trust := c.SecondKMS(t, "127.0.0.3", true)
	conf.Set("ssl.client.truststore.location", trust, "test")
	conf.Set("ssl.client.truststore.password", testcluster.StorePassword, "test")
	var k hdfsio.Keys
	env.secureKeys(&k)
	tls, err := k.TLS()
	testcheck.Must(t, err)
	trusting := func() *kms.Client { return ask(encrypted, func(o *kms.Options) { o.TLS = tls }) }
	serves(trusting)
	same("the server by TLS", want(trusting()))
	stranger := ask(encrypted, nil)
	defer stranger.Close()
	if _, err := stranger.DataKey(t.Context(), keys[0]); err == nil {
		t.Error("a certificate that nothing trusts is accepted")
	}
}

// keyOf creates a file in a zone, and returns its data key as the NameNode stores it.
func keyOf(t *testing.T, env *Env, name string) kms.EncryptedKey {
	t.Helper()
	fsys, p, err := env.Resolve("hdfs://" + name)
	testcheck.Must(t, err)
	w, err := fsys.Create(t.Context(), p, hdfsio.CreateOptions{})
	testcheck.Must(t, err)
	_, err = io.WriteString(w, name)
	testcheck.Must(t, err)
	testcheck.Must(t, w.Finish())
	info, err := fsys.Stat(t.Context(), p)
	testcheck.Must(t, err)
	e := info.Sys().(*hdfs.FileStatus).GetFileEncryptionInfo()
	return kms.EncryptedKey{Name: e.GetKeyName(), Version: e.GetEzKeyVersionName(), Material: e.GetKey(), IV: e.GetIv()}
}
