package tlsconf

import (
	"crypto/tls"
	"fmt"
	"slices"
	"strings"

	"bulkload/pkg/setting"
)

// offer holds the parameters that a client offers to a server.
type offer struct {
	min, max uint16          // versions
	suites   []uint16        // for versions before 1.3; nil: Go's defaults
	only     map[uint16]bool // allowed suites of all versions; nil: any
}

// versions holds TLS versions by Java's names.
var versions = map[string]uint16{"TLSv1": tls.VersionTLS10, "TLSv1.1": tls.VersionTLS11, "TLSv1.2": tls.VersionTLS12, "TLSv1.3": tls.VersionTLS13}

// readOffer reads the versions and cipher suites. By default HBase offers TLS 1.2 only; this client also offers 1.3,
// since the server decides.
func readOffer(value func(string) string) (offer, error) {
	o := offer{min: tls.VersionTLS12, max: tls.VersionTLS13}
	key := enabledProtocols
	names := setting.List(value(key))
	if names == nil {
		key = oneProtocol
		names = setting.List(value(key))
	}
	if names != nil {
		var err error
		if o.min, o.max, err = span(key, names); err != nil {
			return o, err
		}
	}
	names = setting.List(value(cipherSuites))
	if names == nil {
		return o, nil
	}
	o.only = map[uint16]bool{}
	var newest bool // a suite of TLS 1.3
	for _, s := range slices.Concat(tls.CipherSuites(), tls.InsecureCipherSuites()) {
		// Java uses the older name of some suites.
		if !slices.Contains(names, s.Name) && !slices.Contains(names, strings.Replace(s.Name, "TLS_", "SSL_", 1)) {
			continue
		}
		o.only[s.ID] = true
		if slices.Contains(s.SupportedVersions, tls.VersionTLS12) {
			o.suites = append(o.suites, s.ID)
		} else {
			newest = true
		}
	}
	if o.suites == nil {
		o.min = max(o.min, tls.VersionTLS13)
	}
	if !newest {
		o.max = min(o.max, tls.VersionTLS12)
	}
	if o.min > o.max {
		return o, fmt.Errorf("%s has no cipher suite that this program supports with %s: it supports those of TLS 1.3, and of AES or ChaCha20-Poly1305 with ECDHE", cipherSuites, enabledProtocols)
	}
	return o, nil
}

// span returns the range of the named versions.
func span(key string, names []string) (low, high uint16, err error) {
	have := map[uint16]bool{}
	for _, name := range names {
		id := versions[name]
		if id == 0 {
			return 0, 0, fmt.Errorf("%s names %q, not one of TLSv1, TLSv1.1, TLSv1.2 and TLSv1.3", key, name)
		}
		if have[id] = true; low == 0 {
			low, high = id, id
		}
		low, high = min(low, id), max(high, id)
	}
	for v := low; v <= high; v++ {
		if !have[v] {
			return 0, 0, fmt.Errorf("%s leaves out a version between others: name %s as well, or fewer", key, tls.VersionName(v))
		}
	}
	return low, high, nil
}
