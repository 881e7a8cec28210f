package sasl

import (
	"crypto/hmac"
	"crypto/md5"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"bulkload/pkg/kerberos"
)

// Credentials are a user name and password for DIGEST-MD5.
type Credentials struct {
	Name     string
	Password string
}

// TokenCredentials returns the credentials that Hadoop derives from a token (SaslRpcServer.encodeIdentifier,
// encodePassword in Hadoop 3.4).
func TokenCredentials(identifier, password []byte) Credentials {
	return Credentials{base64.StdEncoding.EncodeToString(identifier), base64.StdEncoding.EncodeToString(password)}
}

// digest implements RFC 2831 in the way of the class com.sun.security.sasl.digest.DigestMD5Client.
type digest struct {
	user   Credentials
	uri    string // protocol/server
	wanted []kerberos.Quality
	state  int

	a1     string // A1; proofs and session keys are derived from its hash
	proof  string // the server's
	layer  Layer
	cnonce string // set by tests
}

// DigestMD5 returns the client of an exchange with a server, which calls itself protocol/server. wanted is as in
// [GSSAPI].
func DigestMD5(who Credentials, protocol, server string, wanted []kerberos.Quality) Client {
	return &digest{user: who, uri: protocol + "/" + server, wanted: wanted}
}

func (d *digest) Done() bool    { return d.state == 2 }
func (d *digest) Layer() Layer  { return d.layer }
func (d *digest) Refused() bool { return false }

func (d *digest) Step(challenge []byte) ([]byte, error) {
	d.state++
	switch d.state {
	case 1:
		return d.answer(challenge)
	case 2:
		fields, err := parseDigest(challenge)
		if err != nil {
			return nil, err
		}
		if !hmac.Equal([]byte(fields["rspauth"]), []byte(d.proof)) {
			return nil, errors.New("sasl: the server does not know the password: it is another server")
		}
		return nil, nil
	}
	return nil, errOrder
}

func (d *digest) answer(challenge []byte) ([]byte, error) {
	fields, err := parseDigest(challenge)
	if err != nil {
		return nil, err
	}
	if fields["nonce"] == "" {
		return nil, errors.New("sasl: the server's challenge has no nonce")
	}
	if a := fields["algorithm"]; a != "" && a != "md5-sess" {
		return nil, errors.New("sasl: the server's algorithm is not md5-sess")
	}
	offered := kerberos.Authentication
	if q := fields["qop"]; q != "" {
		list, err := kerberos.ParseQualities(q)
		if err != nil {
			return nil, fmt.Errorf("sasl: qop of the server: %w", err)
		}
		offered = 0
		for _, q := range list {
			offered |= q
		}
	}
	q, err := kerberos.ChooseQuality(offered, d.wanted)
	if err != nil {
		return nil, err
	}
	size := 65536
	if m := fields["maxbuf"]; m != "" {
		if size, err = strconv.Atoi(m); err != nil || size < 64+minPiece || size > 1<<24 {
			return nil, errSize
		}
	}
	if d.cnonce == "" {
		var random [32]byte
		rand.Read(random[:])
		d.cnonce = base64.StdEncoding.EncodeToString(random[:])
	}
	realm, nonce := fields["realm"], fields["nonce"]
	secret := md5.Sum([]byte(d.user.Name + ":" + realm + ":" + d.user.Password))
	d.a1 = string(secret[:]) + ":" + nonce + ":" + d.cnonce
	d.proof = d.response("", nonce, q)
	var b strings.Builder
	fmt.Fprintf(&b, `charset=utf-8,username="%s",realm="%s",nonce="%s",nc=00000001,cnonce="%s",digest-uri="%s",maxbuf=65536,response=%s,qop=%s`,
		quoted(d.user.Name), quoted(realm), quoted(nonce), d.cnonce, quoted(d.uri), d.response("AUTHENTICATE", nonce, q), q.QOP())
	key := md5.Sum([]byte(d.a1))
	switch q {
	case kerberos.Integrity:
		d.layer = newSigned(key, min(size-16, maxPiece))
	case kerberos.Privacy:
		// RC4 is the only cipher that all servers have; the data is encrypted with AES after the exchange.
		if !slices.Contains(strings.Split(fields["cipher"], ","), "rc4") {
			return nil, fmt.Errorf("sasl: the server has no cipher rc4, but %q", fields["cipher"])
		}
		b.WriteString(`,cipher="rc4"`)
		d.layer = newEncrypted(key, min(size-16, maxPiece))
	default:
		d.layer = plain{}
	}
	return []byte(b.String()), nil
}

// response returns the proof of one side (RFC 2831, section 2.1.2.1).
func (d *digest) response(method, nonce string, q kerberos.Quality) string {
	a2 := method + ":" + d.uri
	if q != kerberos.Authentication {
		a2 += ":" + strings.Repeat("0", 32)
	}
	hash := func(s string) string {
		sum := md5.Sum([]byte(s))
		return hex.EncodeToString(sum[:])
	}
	return hash(hash(d.a1) + ":" + nonce + ":00000001:" + d.cnonce + ":" + q.QOP() + ":" + hash(a2))
}

func quoted(s string) string { return strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) }

// maxChallenge limits a challenge: RFC 2831 allows less than 2,048 bytes.
const maxChallenge = 4096

// parseDigest parses a list of key=value and key="value". Keys are converted to lower case. Repeated keys, which only
// realm may be, are ignored.
func parseDigest(text []byte) (map[string]string, error) {
	if len(text) > maxChallenge {
		return nil, errors.New("sasl: a challenge is longer than any can be")
	}
	fields := map[string]string{}
	s := string(text)
	for {
		s = strings.TrimLeft(s, ", \t\r\n")
		if s == "" {
			return fields, nil
		}
		key, rest, ok := strings.Cut(s, "=")
		if !ok {
			return nil, errors.New("sasl: a challenge has a key without a value")
		}
		key = strings.ToLower(strings.TrimSpace(key))
		rest = strings.TrimLeft(rest, " \t\r\n")
		var value []byte
		if strings.HasPrefix(rest, `"`) {
			i := 1
			for ; i < len(rest) && rest[i] != '"'; i++ {
				if rest[i] == '\\' && i+1 < len(rest) {
					i++
				}
				value = append(value, rest[i])
			}
			if i >= len(rest) {
				return nil, errors.New("sasl: a challenge has a value whose quote is not closed")
			}
			rest = rest[i+1:]
		} else {
			i := strings.IndexAny(rest, ", \t\r\n")
			if i < 0 {
				i = len(rest)
			}
			value, rest = []byte(rest[:i]), rest[i:]
		}
		if _, again := fields[key]; !again {
			fields[key] = string(value)
		}
		s = rest
	}
}
