package preflight

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"bulkload/internal/hadoop/hadooprpc"
	"bulkload/internal/hadoop/hbaserpc"
	"bulkload/internal/hadoop/tlsconf"
	"bulkload/internal/hbase/cluster"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/kerberos"
	"bulkload/pkg/loader"
)

// TestSecurityLine checks the one-line description of clusters and logins.
func TestSecurityLine(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	secured := securityFacts{hdfs: true, hbase: true, nameNode: &cluster.NameNode{Methods: []string{"TOKEN", "KERBEROS"}, RPC: kerberos.Privacy}, data: "privacy", hbaseRPC: kerberos.Integrity,
		principal: "etl@EXAMPLE.COM", keytab: "/k", until: now.Add(10 * time.Hour), now: now}
	with := func(change func(s *securityFacts)) securityFacts {
		s := secured
		change(&s)
		return s
	}
	mismatch := fmt.Errorf("protection of RPC: %w (hadoop.rpc.protection)", &kerberos.MismatchError{Offered: []kerberos.Quality{kerberos.Privacy}, Wanted: []kerberos.Quality{kerberos.Authentication}})
	for name, tt := range map[string]struct {
		facts    securityFacts
		staging  error
		severity Severity
		message  string
		hint     string
	}{
		"simple":                       {securityFacts{user: "tina", nameNode: &cluster.NameNode{}}, nil, SeverityOK, "HDFS simple authentication as tina, data in the clear; HBase simple authentication", ""},
		"encrypted":                    {securityFacts{user: "tina", nameNode: &cluster.NameNode{DataEncrypted: true}, tls: true}, nil, SeverityOK, "data encrypted (dfs.encrypt.data.transfer); HBase simple authentication, TLS", ""},
		"keytab":                       {secured, nil, SeverityOK, "HDFS Kerberos, RPC privacy, data privacy (dfs.data.transfer.protection); HBase Kerberos, RPC integrity; etl@EXAMPLE.COM by keytab, ticket until 2026-03-01 22:00 UTC", ""},
		"cache":                        {with(func(s *securityFacts) { s.keytab, s.renewTil = "", now.Add(48*time.Hour) }), nil, SeverityOK, "etl@EXAMPLE.COM by ticket cache, ticket until 2026-03-01 22:00 UTC, renewable until 2026-03-03 12:00 UTC", ""},
		"cache that ends":              {with(func(s *securityFacts) { s.keytab, s.until = "", now.Add(20*time.Minute) }), nil, SeverityWarning, "the ticket ends in 20m0s and cannot be renewed", "kinit"},
		"keytab of everyone":           {with(func(s *securityFacts) { s.open = 0o644 }), nil, SeverityWarning, "can read the keytab (mode 0644)", "chmod 600 /k"},
		"secured, not configured":      {securityFacts{nnErr: fmt.Errorf("namenode nn:8020: %w", hdfsio.ErrSecured)}, nil, SeverityError, "HDFS: namenode nn:8020: the NameNode requires Kerberos, the configuration has simple authentication: set hadoop.security.authentication", "copy"},
		"configured, not secured":      {with(func(s *securityFacts) { s.nameNode, s.nnErr = nil, hadooprpc.ErrSimple }), nil, SeverityError, "set hadoop.security.authentication to simple", "copy"},
		"HBase secured":                {securityFacts{nameNode: &cluster.NameNode{}, hbaseErr: fmt.Errorf("x: %w", loader.ErrSecured)}, nil, SeverityError, "HBase: x: the server requires a Kerberos login", "copy"},
		"HBase not secured":            {with(func(s *securityFacts) { s.hbaseErr = hbaserpc.ErrSimple }), nil, SeverityError, "HBase: the server uses simple authentication", "copy"},
		"another protection":           {with(func(s *securityFacts) { s.nameNode, s.nnErr = nil, mismatch }), nil, SeverityError, "offers privacy, the configuration asks for authentication (hadoop.rpc.protection)", "set the named key"},
		"another protection of data":   {secured, mismatch, SeverityError, "HDFS: protection of RPC", "set the named key"},
		"HBase does not answer":        {with(func(s *securityFacts) { s.hbaseRPC, s.hbaseErr = 0, errors.New("refused") }), nil, SeverityOK, "HBase Kerberos; etl@", ""},
		"NameNode answers others only": {with(func(s *securityFacts) { s.nameNode, s.nnErr = nil, errors.New("refused") }), nil, SeverityWarning, "refused", "NameNode"},
	} {
		c := checkSecurity(tt.facts, tt.staging)
		if c.Name != "security" || c.Severity != tt.severity || !strings.Contains(c.Message.String(), tt.message) || !strings.Contains(c.Hint.String(), tt.hint) || (c.Hint.String() == "") != (tt.hint == "") {
			t.Errorf("%s: %s: %s -> %s", name, c.Severity, c.Message, c.Hint)
		}
	}
	if c := checkSecurity(securityFacts{}, nil); c.Name != "" {
		t.Errorf("no HDFS: %+v", c)
	}
}

// TestCertificates checks that the TLS store that expires first is named, with an error once it has expired.
func TestCertificates(t *testing.T) {
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	until := func(d time.Duration) []tlsconf.Validity {
		return []tlsconf.Validity{{Key: "hbase.rpc.tls.truststore.location", File: "/t.pem", End: now.Add(9000 * time.Hour)},
			{Key: "hbase.rpc.tls.keystore.location", File: "/k.pem", End: now.Add(d)}}
	}
	for name, c := range map[string]struct {
		stores   []tlsconf.Validity
		severity Severity
		message  string
	}{
		"none":        {nil, SeverityOK, ""},
		"long":        {until(1000 * time.Hour), SeverityOK, "2 stores of TLS, good until 2026-06-12"},
		"ten minutes": {until(10 * time.Minute), SeverityWarning, "/k.pem (hbase.rpc.tls.keystore.location) ends on 2026-05-01 12:10 UTC"},
		"yesterday":   {until(-24 * time.Hour), SeverityError, "/k.pem (hbase.rpc.tls.keystore.location) ended on 2026-04-30 12:00 UTC"},
	} {
		if got := checkCertificates(securityFacts{stores: c.stores, now: now}); got.Severity != c.severity || !strings.Contains(got.Message.String(), c.message) || (got.Name == "") != (c.stores == nil) {
			t.Errorf("%s: %s: %s", name, got.Severity, got.Message)
		}
	}
}

// TestEncryptionZones checks that staging must be in the zone of HBase's directory, and that inputs may be in any.
func TestEncryptionZones(t *testing.T) {
	for name, c := range map[string]struct {
		zones    map[string]string
		severity Severity
		message  string // empty: no check
		hint     string
	}{
		"none":          {nil, 0, "", ""},
		"inputs":        {map[string]string{"/in/b": "/in/b"}, SeverityOK, "the input /in/b in /in/b", ""},
		"all in one":    {map[string]string{"/s/etl": "/s", "/s/hbase/staging": "/s", "/in/a": "/in"}, SeverityOK, "the input /in/a in /in; staging and HBase's directory in /s", ""},
		"staging alone": {map[string]string{"/s/etl": "/s"}, SeverityError, "the staging directory is in the encryption zone /s", "outside"},
		"HBase alone":   {map[string]string{"/s/hbase/staging": "/s/hbase"}, SeverityError, "HBase's directory /s/hbase/staging is in the encryption zone /s/hbase", "hdfs dfs -mkdir /s/hbase/bulkload-etl; hdfs dfs -chown etl"},
		"two zones":     {map[string]string{"/s/etl": "/s", "/s/hbase/staging": "/s/hbase"}, SeverityError, "is in the encryption zone /s/hbase", "/s/hbase/bulkload-etl; then"},
	} {
		s := securityFacts{staging: "/s/etl", root: "/s/hbase/staging", inputs: []string{"/in/a", "/in/b"}, zones: map[string]hdfsio.Zone{}}
		for p, root := range c.zones {
			s.zones[p] = hdfsio.Zone{Root: root}
		}
		got := checkZones(s, "etl")
		if c.message == "" {
			if got.Name != "" {
				t.Errorf("%s: %+v", name, got)
			}
			continue
		}
		if got.Severity != c.severity || !strings.Contains(got.Message.String(), c.message) || !strings.Contains(got.Hint.String(), c.hint) || got.Hint.IsZero() != (c.hint == "") {
			t.Errorf("%s: %s: %s -> %s", name, got.Severity, got.Message, got.Hint)
		}
	}
}

// TestRootDir checks that the directory whose zone is queried is a path of the NameNode, also if HBase names its staging
// directory by a URI.
func TestRootDir(t *testing.T) {
	for token, want := range map[string]string{
		"":                                     "/hbz",
		"hdfs://nn:8020/hbz/staging/etl__t__1": "/hbz/staging",
		"hdfs://nn:8020/hbz/staging/x":         "/hbz/staging",
	} {
		conf, err := hdfsio.LoadConf(func(string) (string, bool) { return "", false })
		if err != nil {
			t.Fatal(err)
		}
		conf.Set("fs.defaultFS", "hdfs://nn:8020", "test")
		for _, root := range []string{"hdfs://nn:8020/hbz", "/hbz"} {
			conf.Set("hbase.rootdir", root, "test")
			f := &checkFacts{env: &cluster.Env{Conf: conf}, bulk: bulkFacts{token: token}}
			if got, err := f.rootDir(); err != nil || got.Path != want || got.Authority != "nn:8020" {
				t.Errorf("root %s, token %q: %+v, %v, want %s", root, token, got, err, want)
			}
		}
	}
}
