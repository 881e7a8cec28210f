package tlsconf

import (
	"crypto/x509"
	"encoding/asn1"
	"errors"

	"software.sslmate.com/src/go-pkcs12"
)

// parsePKCS12 parses a PKCS12 store as written by keytool, openssl and browsers. No certificates of a store with a
// private key are trusted: the library does not return which of them Java would trust.
func parsePKCS12(text []byte, pass string) (held, error) {
	if err := derFits(text); err != nil {
		return held{}, err
	}
	var h held
	certs, trustErr := pkcs12.DecodeTrustStore(text, pass)
	if trustErr == nil {
		h.trusted = certs
		return h, nil
	}
	if errors.Is(trustErr, pkcs12.ErrIncorrectPassword) {
		return held{}, errPassword
	}
	key, cert, others, err := pkcs12.DecodeChain(text, pass)
	if err == nil {
		return h, h.addKey(key, append([]*x509.Certificate{cert}, others...))
	}
	switch err.Error() {
	case "pkcs12: expected exactly one key bag":
		return held{}, errors.New("it has more than one private key: keep one in it")
	case "pkcs12: private key missing":
		return held{}, errors.New("its certificates are not marked as trusted: import them by keytool -importcert, or openssl pkcs12 -jdktrust anyExtendedKeyUsage")
	case "pkcs12: certificate missing":
		return held{}, errors.New("it has a private key without a certificate")
	case "pkcs12: no MAC in data":
		return held{}, errors.New("it has no digest by which the password could be checked: write it again by keytool -importkeystore")
	}
	if _, ok := errors.AsType[pkcs12.NotImplementedError](err); ok {
		return held{}, errors.New("it has entries or ciphers that are not supported: write it again by keytool -importkeystore, with keys and certificates only")
	}
	return held{}, errDamaged
}

// scrypt is the identifier of a password hash that Java does not support and that uses as much memory as the file specifies.
var scrypt = asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 11591, 4, 11}

// derFits walks over all DER that is readable without a password, and limits the number of password hash iterations: in
// each algorithm it is a number after the salt, and the length of the key may follow.
func derFits(text []byte) error {
	var top asn1.RawValue
	rest, err := asn1.Unmarshal(text, &top)
	if err != nil || len(rest) > 0 {
		return errDamaged
	}
	return derWalk(top, 0)
}

func derWalk(v asn1.RawValue, depth int) error {
	const deepest, longestKey = 24, 1024
	if depth > deepest {
		return errDamaged
	}
	if !v.IsCompound && v.Tag == asn1.TagOctetString && v.Class == asn1.ClassUniversal {
		var inner asn1.RawValue
		if rest, err := asn1.Unmarshal(v.Bytes, &inner); err == nil && len(rest) == 0 && inner.IsCompound {
			return derWalk(inner, depth+1)
		}
		return nil
	}
	if v.Class == asn1.ClassUniversal && v.Tag == asn1.TagOID {
		var id asn1.ObjectIdentifier
		if _, err := asn1.Unmarshal(v.FullBytes, &id); err == nil && id.Equal(scrypt) {
			return errors.New("its password is hashed by scrypt, which is not supported: write it again by keytool -importkeystore or by openssl pkcs8 with -v2prf hmacWithSHA256")
		}
	}
	if !v.IsCompound {
		return nil
	}
	salted := 0 // 1 after the salt, plus the numbers read since
	for rest := v.Bytes; len(rest) > 0; {
		var next asn1.RawValue
		var err error
		if rest, err = asn1.Unmarshal(rest, &next); err != nil {
			return errDamaged
		}
		switch {
		case next.Class == asn1.ClassUniversal && next.Tag == asn1.TagOctetString:
			salted = 1
		case salted > 0 && next.Class == asn1.ClassUniversal && next.Tag == asn1.TagInteger:
			var n int64
			if _, err := asn1.Unmarshal(next.FullBytes, &n); err != nil || n < 0 || n > maxIterations || salted > 1 && n > longestKey {
				return errors.New("its password is hashed more often than 5,000,000 times, Java's bound")
			}
			salted++
		}
		if err := derWalk(next, depth+1); err != nil {
			return err
		}
	}
	return nil
}
