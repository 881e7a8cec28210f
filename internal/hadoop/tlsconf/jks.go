package tlsconf

import (
	"bytes"
	"crypto/x509"
	"encoding/binary"
	"errors"

	"github.com/pavlo-v-chernykh/keystore-go/v4"
)

const (
	jksMagic   = 0xfeedfeed
	jceksMagic = 0xcececece
)

// parseJKS parses a store in the JDK's own format (sun.security.provider.JavaKeyStore).
func parseJKS(text []byte, pass string, keys bool) (held, error) {
	if !jksFits(text) {
		return held{}, errDamaged
	}
	secret, err := latin1(pass)
	if err != nil {
		return held{}, err
	}
	// Ordered aliases make the choice of a key deterministic. Without case-exact aliases, names with capitals would not
	// be found.
	store := keystore.New(keystore.WithOrderedAliases(), keystore.WithCaseExactAliases())
	if store.Load(bytes.NewReader(text), secret) != nil {
		return held{}, errPassword // its digest is the only check of both
	}
	var h held
	for _, alias := range store.Aliases() {
		if store.IsTrustedCertificateEntry(alias) {
			entry, err := store.GetTrustedCertificateEntry(alias)
			if err != nil {
				return held{}, errDamaged
			}
			h.trust(entry.Certificate.Content)
			continue
		}
		if !keys {
			h.private++
			continue
		}
		entry, err := store.GetPrivateKeyEntry(alias, secret)
		if err != nil {
			return held{}, errors.New("a private key in it does not open: its password must be that of the store")
		}
		key, err := x509.ParsePKCS8PrivateKey(entry.PrivateKey)
		if err != nil {
			return held{}, errors.New("a private key of an algorithm that TLS does not use")
		}
		var chain []*x509.Certificate
		for _, c := range entry.CertificateChain {
			cert, err := x509.ParseCertificate(c.Content)
			if err != nil {
				return held{}, errors.New("a certificate of a private key cannot be read")
			}
			chain = append(chain, cert)
		}
		if err := h.addKey(key, chain); err != nil {
			return held{}, err
		}
	}
	return h, nil
}

// latin1 returns a password in the form of the library: one byte per Java character.
func latin1(pass string) ([]byte, error) {
	var out []byte
	for _, r := range pass {
		if r > 0xff {
			return nil, errors.New("its password has a character that is not of Latin-1: convert the store to PKCS12 by keytool -importkeystore")
		}
		out = append(out, byte(r))
	}
	return out, nil
}

// jksFits reports whether all lengths in a store are within its size: the library allocates memory according to them.
func jksFits(text []byte) bool {
	const digest = 20
	if len(text) < 12+digest {
		return false
	}
	version, entries := binary.BigEndian.Uint32(text[4:]), binary.BigEndian.Uint32(text[8:])
	r := lengths{rest: text[12 : len(text)-digest]}
	certificate := func() {
		if version == 2 {
			r.skip(2)
		}
		r.skip(4)
	}
	if version != 1 && version != 2 {
		return false
	}
	for ; entries > 0 && !r.bad; entries-- {
		tag := r.number(4)
		r.skip(2) // its name
		r.number(8)
		switch tag {
		case 1:
			r.skip(4) // the key
			n := r.number(4)
			if n > len(r.rest)/4 {
				return false
			}
			for ; n > 0 && !r.bad; n-- {
				certificate()
			}
		case 2:
			certificate()
		default:
			return false
		}
	}
	return !r.bad && len(r.rest) == 0
}

// lengths walks over length-prefixed fields.
type lengths struct {
	rest []byte
	bad  bool
}

// number reads a number of size bytes and returns its last four bytes.
func (l *lengths) number(size int) int {
	if l.bad || len(l.rest) < size {
		l.bad = true
		return 0
	}
	n := 0
	for _, b := range l.rest[max(0, size-4):size] {
		n = n<<8 | int(b)
	}
	l.rest = l.rest[size:]
	return n
}

// skip skips a field whose length has size bytes.
func (l *lengths) skip(size int) {
	n := l.number(size)
	if l.bad || n > len(l.rest) {
		l.bad = true
		return
	}
	l.rest = l.rest[n:]
}
