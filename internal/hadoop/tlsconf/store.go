package tlsconf

import (
	"bytes"
	"cmp"
	"crypto"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// maxStore limits the size of a store file: those of operating systems have a few hundred kilobytes.
const maxStore = 16 << 20

// maxIterations limits the number of password hash iterations: the JDK's limit (PKCS12KeyStore.MAX_ITERATION_COUNT).
const maxIterations = 5_000_000

// held holds the contents of a store.
type held struct {
	trusted []*x509.Certificate
	keys    []tls.Certificate
	private int // number of private keys, including those that were not parsed
	unread  int // number of certificates that cannot be parsed
}

func (h *held) pool() *x509.CertPool {
	p := x509.NewCertPool()
	for _, cert := range h.trusted {
		p.AddCert(cert)
	}
	return p
}

// Errors of stores. A library's error text could quote a store's contents, so it is not passed on.
var (
	errPassword = errors.New("the password does not open it")
	errDamaged  = errors.New("it is damaged")
)

// openStore reads the store configured by the keys with the prefix: the trust store or the key store.
func openStore(value func(string) string, prefix string) (held, error) {
	name := value(prefix + location)
	fail := func(err error) (held, error) {
		return held{}, fmt.Errorf("%s: %s: %w", prefix+location, name, err)
	}
	form, err := storeForm(value(prefix+storeType), name)
	if err != nil {
		return held{}, fmt.Errorf("%s: %w", prefix+storeType, err)
	}
	text, err := readStore(name)
	if err != nil {
		return held{}, fmt.Errorf("%s: %w", prefix+location, err)
	}
	pass := value(prefix + password)
	if prefix == webStore && pass == "" && isJKS(text) {
		text = openable(text)
	} else if pass == "" && form != "PEM" && value(credentials) != "" {
		file := "hbase-site.xml"
		if prefix == webStore {
			file = "ssl-client.xml"
		}
		return held{}, fmt.Errorf("the password of %s is not set, and %s, a credential provider, is not supported: set %s (or ${env.NAME}) in %s, or use PEM", name, credentials, prefix+password, file)
	}
	h, err := parseStore(form, text, pass, prefix == keyStore)
	switch {
	case errors.Is(err, errPassword):
		what := "the password of " + prefix + password + " does not open it"
		if pass == "" {
			what = "it has a password: set " + prefix + password
		}
		return fail(errors.New(what + ", if the file is not damaged"))
	case err != nil:
		return fail(fmt.Errorf("as a store of type %s: %w", form, err))
	case prefix != keyStore && h.trusted == nil && h.unread > 0:
		return fail(errors.New("none of its certificates can be read"))
	case prefix != keyStore && h.trusted == nil && h.private > 0:
		return fail(errors.New("it has a private key and no certificate to trust: export the authority's certificate into a store of its own (keytool -importcert)"))
	case prefix != keyStore && h.trusted == nil:
		return fail(errors.New("it has no certificate to trust"))
	case prefix == keyStore && h.keys == nil:
		return fail(errors.New("it has no private key with its certificate"))
	}
	return h, nil
}

// storeForm returns PEM, JKS or PKCS12, according to the type key, otherwise to the file's name (KeyStoreFileType).
func storeForm(form, name string) (string, error) {
	form = strings.ToUpper(strings.TrimSpace(form))
	form = cmp.Or(form, map[string]string{".pem": "PEM", ".jks": "JKS", ".p12": "PKCS12", ".bcfks": "BCFKS"}[filepath.Ext(name)])
	switch form {
	case "PEM", "JKS", "PKCS12":
		return form, nil
	case "BCFKS":
		return "", errors.New("stores of type BCFKS are not supported: convert it to PKCS12 by keytool -importkeystore, or to PEM")
	case "":
		return "", fmt.Errorf("is not set, and the name of %s ends with none of .pem, .jks and .p12: set it to PEM, JKS or PKCS12", name)
	}
	return "", fmt.Errorf("is %q, not PEM, JKS or PKCS12", form)
}

func readStore(name string) ([]byte, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a file", name)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxStore+1))
	if len(text) > maxStore {
		return nil, fmt.Errorf("%s is larger than %d bytes", name, maxStore)
	}
	return text, err
}

// parseStore parses a store. Like Java it accepts JKS for PKCS12 and the other way round, because keytool writes either
// under both names. Private keys are parsed only if keys is set: those in a trust store may have other passwords.
func parseStore(form string, text []byte, pass string, keys bool) (h held, err error) {
	defer func() {
		if recover() != nil { // a library's panic on its input
			h, err = held{}, errDamaged
		}
	}()
	if len(text) == 0 {
		return held{}, errors.New("the file is empty")
	}
	if form == "PEM" {
		return parsePEM(text, pass, keys)
	}
	var magic uint32
	if len(text) >= 4 {
		magic = binary.BigEndian.Uint32(text)
	}
	switch {
	case magic == jksMagic:
		return parseJKS(text, pass, keys)
	case magic == jceksMagic:
		return held{}, errors.New("it is a JCEKS store, which is not supported: convert it to PKCS12 by keytool -importkeystore")
	case text[0] == 0x30:
		return parsePKCS12(text, pass)
	case bytes.Contains(text, []byte("-----BEGIN ")):
		return held{}, errors.New("it is PEM: set the type to PEM")
	}
	return held{}, errors.New("it is neither JKS nor PKCS12")
}

func (h *held) trust(der []byte) {
	if cert, err := x509.ParseCertificate(der); err == nil {
		h.trusted = append(h.trusted, cert)
	} else {
		h.unread++
	}
}

// addKey adds a private key with its chain, sorted: the key's own certificate first.
func (h *held) addKey(key any, certs []*x509.Certificate) error {
	h.private++
	var public interface{ Equal(crypto.PublicKey) bool }
	signer, ok := key.(crypto.Signer)
	if ok {
		public, ok = signer.Public().(interface{ Equal(crypto.PublicKey) bool })
	}
	if !ok {
		return errors.New("a private key of an algorithm that TLS does not use")
	}
	for i, cert := range certs {
		if !public.Equal(cert.PublicKey) {
			continue
		}
		pair := tls.Certificate{PrivateKey: signer, Leaf: cert, Certificate: [][]byte{cert.Raw}}
		left := slices.Concat(certs[:i], certs[i+1:])
		for last := cert; !bytes.Equal(last.RawIssuer, last.RawSubject); {
			at := slices.IndexFunc(left, func(c *x509.Certificate) bool { return bytes.Equal(c.RawSubject, last.RawIssuer) })
			if at < 0 {
				break
			}
			last = left[at]
			left = slices.Delete(left, at, at+1)
			pair.Certificate = append(pair.Certificate, last.Raw)
		}
		h.keys = append(h.keys, pair)
		return nil
	}
	return errors.New("no certificate in it is that of its private key")
}
