package testcluster

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/test/testcheck"
)

// The keys of a cluster with a KMS. All users may decrypt with ZoneKey, only HBase with DeniedKey.
const (
	ZoneKey   = "k1"
	DeniedKey = "k2"
)

func (l layout) kms() string { return filepath.Join(l.dir, "kms") }

func keyProvider(p Ports) string { return fmt.Sprintf("kms://http@localhost:%d/kms", p.KMS) }

// writeKMS writes the files that the KMS reads.
func (l layout) writeKMS(o Options, p Ports) error {
	site := map[string]string{
		"hadoop.kms.key.provider.uri":    "jceks://file@" + filepath.Join(l.kms(), "keys.jceks"),
		"hadoop.kms.http.host":           "localhost",
		"hadoop.kms.http.port":           fmt.Sprint(p.KMS),
		"hadoop.http.max.threads":        "40",
		"hadoop.kms.authentication.type": "simple",
	}
	if o.Security.Kerberos {
		core := map[string]string{}
		clientSecurity(o.Security, core, map[string]string{}, map[string]string{})
		maps.Copy(site, map[string]string{
			"hadoop.kms.authentication.type":                "kerberos",
			"hadoop.kms.authentication.kerberos.keytab":     l.keytab(webID),
			"hadoop.kms.authentication.kerberos.principal":  webID,
			"hadoop.kms.authentication.kerberos.name.rules": core["hadoop.security.auth_to_local"],
		})
	}
	core := map[string]string{}
	if o.Security.Kerberos {
		core["hadoop.security.authentication"] = "kerberos"
	}
	acls := map[string]string{}
	for _, op := range []string{"MANAGEMENT", "GENERATE_EEK", "DECRYPT_EEK", "READ"} {
		acls["default.key.acl."+op], acls["key.acl."+DeniedKey+"."+op] = "*", "*"
	}
	acls["key.acl."+DeniedKey+".DECRYPT_EEK"] = daemonUser
	return writeFiles(l.kms(), map[string]string{
		"kms-site.xml": siteXML(site, nil), "kms-acls.xml": siteXML(acls, nil), "core-site.xml": siteXML(core, nil), "log4j.properties": log4jProperties,
	})
}

// kmsCommand returns the argument vector of the KMS.
func kmsCommand(java, lib, kmsLib string, l layout, o Options) []string {
	argv := append([]string{java}, javaFlags(o.HeapMB[KMS])...)
	if o.Security.Kerberos {
		argv = append(argv, javaKerberos(l)...)
	}
	argv = append(argv, classData(lib)...)
	return append(argv, "-Djava.io.tmpdir="+l.logs(), "-Dbulkload.log=INFO", "-XX:TieredStopAtLevel=1", "-Dkms.config.dir="+l.kms(), "-Dkms.log.dir="+l.logs(),
		"-Dlog4j.configuration=file://"+filepath.Join(l.kms(), "log4j.properties"), "-cp", classPath(jarPath(lib), jarPath(kmsLib), l.kms()), kinds[KMS].class)
}

// probeKMS accepts any answer, including a request for a login.
func (c *Cluster) probeKMS(ctx context.Context, _ Role) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+local(c.state.Ports.KMS)+"/kms/v1/keys/names?user.name="+daemonUser, nil)
	if err != nil {
		return err
	}
	response, err := newTransport().RoundTrip(r)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK && response.StatusCode != http.StatusUnauthorized {
		return fmt.Errorf("the KMS answers %s", response.Status)
	}
	return nil
}

// MakeZones makes directories, which must be empty or absent, encryption zones. Each has the name of its key: ZoneKey, DeniedKey or
// another one, which is created.
func (c *Cluster) MakeZones(ctx context.Context, keys map[string]string) error {
	var args []string
	for _, dir := range slices.Sorted(maps.Keys(keys)) {
		args = append(args, keys[dir]+"="+dir)
	}
	if len(args) == 0 {
		return nil
	}
	if _, err := c.javaSuper(ctx, "Zones", args...); err != nil {
		return fmt.Errorf("make encryption zones (%s): %w", strings.Join(args, ", "), err)
	}
	return nil
}

// javaSuper is [Cluster.JavaClass] for the superuser of HDFS.
func (c *Cluster) javaSuper(ctx context.Context, class string, args ...string) (string, error) {
	argv := c.javaCommandSimple(daemonUser, class, args...)
	if c.state.Security.Kerberos {
		argv = c.javaCommandAs(HDFSAdmin, class, args...)
	}
	return c.runJava(ctx, argv, class, args)
}

// FsShell runs commands of Hadoop's file system shell, each with its arguments, as the superuser of HDFS. It returns
// their standard output.
func (c *Cluster) FsShell(ctx context.Context, commands ...[]string) (string, error) {
	var args []string
	for i, command := range commands {
		if i > 0 {
			args = append(args, ";")
		}
		args = append(args, command...)
	}
	return c.javaSuper(ctx, "Fs", args...)
}

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
