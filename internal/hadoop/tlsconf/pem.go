package tlsconf

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"strings"

	"github.com/youmark/pkcs8"
)

// maxBlocks limits the number of PEM blocks in one file.
const maxBlocks = 10_000

// parsePEM parses all blocks of a file: certificates, and at most one private key, whose chain the certificates then
// are.
func parsePEM(text []byte, pass string, keys bool) (held, error) {
	var h held
	var found []any
	blocks := 0
	for {
		var block *pem.Block
		if block, text = pem.Decode(text); block == nil {
			break
		}
		if blocks++; blocks > maxBlocks {
			return held{}, errors.New("it has more than 10,000 blocks")
		}
		switch {
		case block.Type == "CERTIFICATE" || block.Type == "X509 CERTIFICATE":
			h.trust(block.Bytes)
		case strings.HasSuffix(block.Type, "PRIVATE KEY"):
			if !keys {
				h.private++
				continue
			}
			key, err := pemKey(block, pass)
			if err != nil {
				return held{}, err
			}
			found = append(found, key)
		}
	}
	switch {
	case blocks == 0 && len(text) > 0 && text[0] == 0x30:
		return held{}, errors.New("it is not PEM, but most likely PKCS12 or DER")
	case blocks == 0:
		return held{}, errors.New("it has no PEM block, or a damaged one")
	case len(found) > 1:
		return held{}, errors.New("it has more than one private key: keep one in it")
	case len(found) == 1:
		if h.unread > 0 {
			return held{}, errors.New("a certificate next to its private key cannot be read")
		}
		if len(h.trusted) == 0 {
			return held{}, errors.New("it has a private key without a certificate: put the certificate and its chain into the same file")
		}
		return h, h.addKey(found[0], h.trusted)
	}
	return h, nil
}

// pemKey parses a private key, unencrypted or encrypted as PKCS #8.
func pemKey(block *pem.Block, pass string) (any, error) {
	if block.Headers["DEK-Info"] != "" || strings.Contains(block.Headers["Proc-Type"], "ENCRYPTED") {
		return nil, errors.New("its private key is encrypted in the way of old openssl, which HBase does not read either: write it again by openssl pkcs8 -topk8")
	}
	switch block.Type {
	case "PRIVATE KEY":
		return readable(x509.ParsePKCS8PrivateKey(block.Bytes))
	case "RSA PRIVATE KEY":
		return readable(x509.ParsePKCS1PrivateKey(block.Bytes))
	case "EC PRIVATE KEY":
		return readable(x509.ParseECPrivateKey(block.Bytes))
	case "ENCRYPTED PRIVATE KEY":
		if pass == "" {
			return nil, errPassword
		}
		if err := derFits(block.Bytes); err != nil {
			return nil, err
		}
		key, _, err := pkcs8.ParsePrivateKey(block.Bytes, []byte(pass))
		if err != nil && (strings.HasPrefix(err.Error(), "pkcs8: unsupported") || strings.HasPrefix(err.Error(), "pkcs8: only")) {
			return nil, errors.New("its private key is encrypted in a way that is not supported: write it again by openssl pkcs8 -topk8 -v2 aes-256-cbc")
		}
		if err != nil {
			return nil, errPassword
		}
		return key, nil
	}
	return nil, errors.New("its private key is of a kind that is not supported: write it again by openssl pkcs8 -topk8")
}

func readable[K any](key K, err error) (any, error) {
	if err != nil {
		return nil, errors.New("its private key is damaged, or of an algorithm that TLS does not use")
	}
	return key, nil
}
