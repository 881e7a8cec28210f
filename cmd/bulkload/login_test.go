package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"bulkload/internal/cli/ending"
	"bulkload/internal/test/testcheck"

	"github.com/jcmturner/gokrb5/v8/iana/etypeID"
	"github.com/jcmturner/gokrb5/v8/keytab"
)

// TestStopDuringLogin checks that a signal ends a command that waits for KDCs, which do not answer, at once.
func TestStopDuringLogin(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	realms := "[libdefaults]\n default_realm = FAKE.TEST\n udp_preference_limit = 1\n[realms]\n FAKE.TEST = {\n"
	for range 3 {
		kdc := testcheck.Serve(t, func(nc net.Conn) {
			cancel(ending.Signal(syscall.SIGTERM))
			for b := make([]byte, 1<<10); ; {
				if _, err := nc.Read(b); err != nil {
					return
				}
			}
		})
		realms += fmt.Sprintf("  kdc = %s\n", kdc.Addr())
	}
	kt := keytab.New()
	testcheck.Must(t, kt.AddEntry("u", "FAKE.TEST", "secret", time.Now(), 1, etypeID.AES256_CTS_HMAC_SHA1_96))
	keys, err := kt.Marshal()
	testcheck.Must(t, err)
	site := "<configuration><property><name>hadoop.security.authentication</name><value>kerberos</value></property>" +
		"<property><name>fs.defaultFS</name><value>hdfs://127.0.0.1:1</value></property></configuration>"
	for name, text := range map[string]string{"krb5.conf": realms + " }\n", "u.keytab": string(keys), "core-site.xml": site} {
		testcheck.Must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	t.Setenv("KRB5_CONFIG", filepath.Join(dir, "krb5.conf"))
	t.Setenv("HADOOP_CONF_DIR", dir)
	t.Setenv("HBASE_CONF_DIR", dir)
	began := time.Now()
	_, err = execute(ctx, &globals{}, []string{"inspect", "hdfs:///x.csv", "--principal", "u", "--keytab", filepath.Join(dir, "u.keytab")})
	if code := ending.CodeOf(ctx, err); code != 143 || !errors.Is(err, context.Canceled) || time.Since(began) > 4*time.Second {
		t.Errorf("exit code %d after %s: %v", code, time.Since(began), err)
	}
}

// TestProxyUserIsRefused checks that no command acts as another user than Hadoop's clients in the same environment do.
func TestProxyUserIsRefused(t *testing.T) {
	t.Setenv("HADOOP_PROXY_USER", "tina")
	_, err := execute(t.Context(), &globals{}, []string{"inspect", "hdfs://127.0.0.1:1/x.csv"})
	if code := ending.CodeOf(t.Context(), err); code != 2 || !strings.Contains(err.Error(), "HADOOP_PROXY_USER is set") {
		t.Errorf("exit code %d: %v", code, err)
	}
}
