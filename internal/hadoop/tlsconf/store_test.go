package tlsconf

import (
	"encoding/binary"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// config returns a configuration in the form of Read's argument.
func config(keys map[string]string) func(string) string {
	return func(key string) string { return keys[key] }
}

func at(name string) string { return filepath.Join("testdata", name) }

// with returns the keys of a store that is opened with a password.
func with(prefix, name, pass string) map[string]string {
	return map[string]string{prefix + location: name, prefix + password: pass}
}

// TestStores reads stores written by keytool and openssl.
func TestStores(t *testing.T) {
	for _, tt := range []struct {
		prefix, name, form, pass string
		trusted, keys            int
	}{
		{trustStore, "ca.pem", "", "", 1, 0},
		{trustStore, "client.pem", "PEM", "", 2, 0},
		{trustStore, "client-encrypted.pem", "pem", "", 2, 0},
		{trustStore, "trust.jks", "", "changeit", 1, 0},
		{trustStore, "trust.jks", "PKCS12", "changeit", 1, 0},
		{trustStore, "default.jks", "JKS", "changeit", 1, 0},
		{trustStore, "trust.p12", "", "changeit", 1, 0},
		{trustStore, "trust-legacy.p12", "", "changeit", 1, 0},
		{trustStore, "mixed.jks", "", "changeit", 1, 0},
		{keyStore, "client.pem", "", "", 2, 1},
		{keyStore, "client-sec1.pem", "", "", 2, 1},
		{keyStore, "client-encrypted.pem", "", "changeit", 2, 1},
		{keyStore, "client.jks", "", "changeit", 0, 1},
		{keyStore, "mixed.jks", "", "changeit", 1, 1},
		{keyStore, "client.p12", "", "changeit", 0, 1},
		{keyStore, "mixed.p12", "", "changeit", 0, 1},
		{keyStore, "client-openssl.p12", "", "changeit", 0, 1},
		{keyStore, "client-3des.p12", "", "changeit", 0, 1},
	} {
		keys := with(tt.prefix, at(tt.name), tt.pass)
		keys[tt.prefix+storeType] = tt.form
		h, err := openStore(config(keys), tt.prefix)
		if err != nil || len(h.trusted) != tt.trusted || len(h.keys) != tt.keys || h.unread != 0 {
			t.Errorf("%s of %s: %d certificates to trust, %d keys, %v", tt.prefix, tt.name, len(h.trusted), len(h.keys), err)
			continue
		}
		for _, c := range h.trusted {
			if !strings.HasPrefix(c.Subject.String(), "CN=") {
				t.Errorf("%s: %s", tt.name, c.Subject)
			}
		}
		for _, k := range h.keys {
			if k.Leaf.Subject.CommonName != "client" || len(k.Certificate) != 2 {
				t.Errorf("%s: the key is of %s, with %d certificates", tt.name, k.Leaf.Subject, len(k.Certificate))
			}
		}
	}
}

// TestTrusted checks the trust store of ssl-client.xml: as for Hadoop's clients, a JKS store opens without its password, also where a credential
// provider is configured, and no advice names hbase-site.xml.
func TestTrusted(t *testing.T) {
	const prefix = "ssl.client.truststore"
	keys := with(prefix, at("trust.jks"), "")
	for range 2 {
		if roots, err := Trusted(config(keys)); err != nil || roots == nil {
			t.Errorf("no password: %v", err)
		}
		keys[credentials] = "localjceks://file/x"
	}
	for name, tt := range map[string]struct{ store, pass, want string }{
		"a wrong password": {"trust.jks", "no-such-word", "password of ssl.client.truststore.password does not open it"},
		"PKCS12":           {"trust.p12", "", "set ssl.client.truststore.password (or ${env.NAME}) in ssl-client.xml"},
	} {
		maps.Copy(keys, with(prefix, at(tt.store), tt.pass))
		if _, err := Trusted(config(keys)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestStoreErrors checks the advice in errors about stores.
func TestStoreErrors(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	text := func(name string) string {
		b, err := os.ReadFile(at(name))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	const secret = "no-such-word"
	cut := func(s string) string { return s[:len(s)/2] }
	for name, tt := range map[string]struct {
		prefix, path, pass string
		more               map[string]string
		want               string
	}{
		"no file":                     {trustStore, filepath.Join(dir, "none.pem"), "", nil, "no such file"},
		"a directory":                 {trustStore, dir, "", map[string]string{trustStore + storeType: "PEM"}, "is not a file"},
		"an empty file":               {trustStore, file("empty.jks", ""), secret, nil, "the file is empty"},
		"an unknown type":             {trustStore, at("ca.pem"), "", map[string]string{trustStore + storeType: "DER"}, `hbase.rpc.tls.truststore.type: is "DER", not PEM`},
		"an unknown name":             {trustStore, file("store", "x"), "", nil, "ends with none of .pem, .jks and .p12"},
		"BCFKS":                       {trustStore, file("a.bcfks", "x"), "", nil, "BCFKS are not supported"},
		"JCEKS":                       {trustStore, at("trust.jceks"), "changeit", map[string]string{trustStore + storeType: "JKS"}, "JCEKS store, which is not supported"},
		"JKS, wrong password":         {trustStore, at("trust.jks"), secret, nil, "password of hbase.rpc.tls.truststore.password does not open it"},
		"JKS, no password":            {trustStore, at("trust.jks"), "", nil, "it has a password: set hbase.rpc.tls.truststore.password"},
		"JKS, a password of Unicode":  {trustStore, at("trust.jks"), "密码", nil, "not of Latin-1"},
		"PKCS12, wrong password":      {trustStore, at("trust.p12"), secret, nil, "password of hbase.rpc.tls.truststore.password does not open it"},
		"PKCS12, no password":         {trustStore, at("trust.p12"), "", nil, "it has a password: set"},
		"PEM, wrong password":         {keyStore, at("client-encrypted.pem"), secret, nil, "password of hbase.rpc.tls.keystore.password does not open it"},
		"PEM, no password":            {keyStore, at("client-encrypted.pem"), "", nil, "it has a password: set hbase.rpc.tls.keystore.password"},
		"PEM, scrypt":                 {keyStore, at("client-scrypt.pem"), "changeit", nil, "scrypt, which is not supported"},
		"PEM, encrypted the old way":  {keyStore, at("client-old.pem"), "changeit", nil, "openssl pkcs8 -topk8"},
		"PEM, no key":                 {keyStore, at("ca.pem"), "", nil, "no private key with its certificate"},
		"PEM, only a key":             {keyStore, at("ca-key.pem"), "", nil, "a private key without a certificate"},
		"PEM, only a key, for trust":  {trustStore, at("ca-key.pem"), "", nil, "no certificate to trust"},
		"PEM, another's key":          {keyStore, file("other.pem", text("ca-key.pem")+text("client.pem")[strings.Index(text("client.pem"), "-----BEGIN CERT"):strings.LastIndex(text("client.pem"), "-----BEGIN CERT")]), "", nil, "no certificate in it is that of its private key"},
		"PEM, two keys":               {keyStore, file("two.pem", text("ca-key.pem")+text("client.pem")), "", nil, "more than one private key"},
		"PEM, a damaged certificate":  {trustStore, file("bad.pem", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"), "", nil, "none of its certificates can be read"},
		"PEM, damaged":                {trustStore, file("half.pem", cut(text("ca.pem"))), "", nil, "no PEM block, or a damaged one"},
		"PKCS12 as PEM":               {trustStore, at("trust.p12"), "changeit", map[string]string{trustStore + storeType: "PEM"}, "most likely PKCS12"},
		"PEM as PKCS12":               {trustStore, at("ca.pem"), "changeit", map[string]string{trustStore + storeType: "PKCS12"}, "it is PEM: set the type"},
		"text":                        {trustStore, file("text.jks", "hello"), secret, nil, "neither JKS nor PKCS12"},
		"JKS, half of it":             {trustStore, file("half.jks", cut(text("trust.jks"))), "changeit", nil, "it is damaged"},
		"PKCS12, half of it":          {trustStore, file("half.p12", cut(text("trust.p12"))), "changeit", nil, "it is damaged"},
		"JKS, the key's own password": {keyStore, at("otherpass.jks"), "changeit", nil, "its password must be that of the store"},
		"JKS, trust without any":      {trustStore, at("client.jks"), "changeit", nil, "a private key and no certificate to trust"},
		"PKCS12, trust and a key":     {trustStore, at("mixed.p12"), "changeit", nil, "a private key and no certificate to trust"},
		"PKCS12, unmarked":            {trustStore, at("unmarked.p12"), "changeit", nil, "not marked as trusted"},
		"PKCS12, keys of none":        {keyStore, at("trust.p12"), "changeit", nil, "no private key with its certificate"},
		"a provider of credentials":   {trustStore, at("trust.jks"), "", map[string]string{credentials: "jceks://file/x"}, "a credential provider, is not supported: set hbase.rpc.tls.truststore.password"},
	} {
		keys := with(tt.prefix, tt.path, tt.pass)
		maps.Copy(keys, tt.more)
		_, err := openStore(config(keys), tt.prefix)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, not %q", name, err, tt.want)
			continue
		}
		if strings.Contains(err.Error(), secret) || strings.Contains(err.Error(), "changeit") || !strings.Contains(err.Error(), tt.prefix) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestLyingLengths checks stores whose claimed lengths and counts would take
// memory or time.
func TestLyingLengths(t *testing.T) {
	jks, err := os.ReadFile(at("client.jks"))
	if err != nil {
		t.Fatal(err)
	}
	for i := 8; i+4 <= len(jks); i++ {
		lying := append([]byte(nil), jks...)
		binary.BigEndian.PutUint32(lying[i:], 0x7fffffff)
		if _, err := parseStore("JKS", lying, "changeit", true); err == nil {
			t.Fatalf("a length at %d: accepted", i)
		}
	}
	// SEQUENCE {salt, iterations}.
	for iterations, bad := range map[string]bool{"\x02\x03\x4c\x4b\x40": false, "\x02\x03\x4c\x4b\x41": true, "\x02\x01\xff": true, "\x02\x09\x01\x00\x00\x00\x00\x00\x00\x00\x00": true} {
		body := "\x04\x01a" + iterations
		if err := derFits([]byte("\x30" + string(rune(len(body))) + body)); bad != (err != nil) {
			t.Errorf("%x: %v", iterations, err)
		}
	}
	if err := derFits([]byte(strings.Repeat("\x30\x80", 1000))); err == nil {
		t.Error("without an end: accepted")
	}
	deep := "\x05\x00"
	for range 40 {
		deep = "\x30" + string(rune(len(deep))) + deep
	}
	if err := derFits([]byte(deep)); err == nil {
		t.Error("40 levels: accepted")
	}
}

// FuzzStores passes arbitrary stores to the libraries after the limits are checked.
func FuzzStores(f *testing.F) {
	names, err := filepath.Glob(at("*"))
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range names {
		if filepath.Ext(name) == ".sh" || filepath.Ext(name) == ".md" {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			continue // the corpus of fuzzing is a directory
		}
		for i, form := range []string{"PEM", "JKS", "PKCS12"} {
			f.Add(text, i, form == "PEM")
		}
	}
	f.Fuzz(func(t *testing.T, text []byte, form int, keys bool) {
		if len(text) > 8<<10 {
			return
		}
		h, err := parseStore([]string{"PEM", "JKS", "PKCS12"}[uint(form)%3], text, "changeit", keys)
		if err != nil && strings.Contains(err.Error(), "changeit") {
			t.Error(err)
		}
		for _, k := range h.keys {
			if k.Leaf == nil || len(k.Certificate) == 0 {
				t.Error("a key without its certificate")
			}
		}
	})
}
