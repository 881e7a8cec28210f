package testcluster

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/internal/test/testcheck"
)

// SecondKMS starts another KMS with the keys of the cluster's KMS, on the same port at another address of this machine, such as 127.0.0.2.
// It serves some seconds after the call, and ends with the test. With tls it uses the key of a new store, and the second result is a trust
// store of type jks for it, whose password is [StorePassword].
func (c *Cluster) SecondKMS(t testing.TB, host string, tls bool) (address, trust string) {
	t.Helper()
	dir := t.TempDir()
	testcheck.Must(t, os.CopyFS(dir, os.DirFS(c.layout.kms())))
	scheme, further := "http", map[string]string{"hadoop.kms.http.host": host}
	if tls {
		scheme, further["hadoop.kms.ssl.enabled"] = "https", "true"
		keys := filepath.Join(dir, "server.jks")
		trust = filepath.Join(dir, "trust.jks")
		certificate := filepath.Join(dir, "server.crt")
		common := []string{"-alias", "kms", "-storetype", "JKS", "-storepass", StorePassword}
		for _, args := range [][]string{
			{"-genkeypair", "-keyalg", "EC", "-dname", "CN=kms", "-ext", "san=ip:" + host, "-validity", "2", "-keypass", StorePassword, "-keystore", keys},
			{"-exportcert", "-rfc", "-file", certificate, "-keystore", keys},
			{"-importcert", "-noprompt", "-file", certificate, "-keystore", trust},
		} {
			keytool, err := tool("keytool")
			if err == nil {
				err = runTool(t.Context(), keytool, append(args, common...)...)
			}
			testcheck.Must(t, err)
		}
		ssl := map[string]string{"ssl.server.keystore.location": keys, "ssl.server.keystore.password": StorePassword, "ssl.server.keystore.keypassword": StorePassword,
			"ssl.server.keystore.type": "jks", "ssl.server.truststore.location": trust, "ssl.server.truststore.password": StorePassword, "ssl.server.truststore.type": "jks"}
		testcheck.Must(t, os.WriteFile(filepath.Join(dir, "ssl-server.xml"), []byte(siteXML(ssl, nil)), 0o600))
	}
	// The last value of a property counts.
	name := filepath.Join(dir, "kms-site.xml")
	site, err := os.ReadFile(name)
	testcheck.Must(t, err)
	_, more, _ := strings.Cut(siteXML(further, nil), "<configuration>\n")
	testcheck.Must(t, os.WriteFile(name, []byte(strings.Replace(string(site), "</configuration>\n", more, 1)), 0o600))
	var argv []string
	for _, arg := range c.command(KMS) {
		argv = append(argv, strings.ReplaceAll(arg, c.layout.kms(), dir))
	}
	c.runFurther(t, "the second KMS", argv, c.daemonEnvironment())
	return fmt.Sprintf("kms://%s@%s:%d/kms", scheme, host, c.state.Ports.KMS), trust
}
