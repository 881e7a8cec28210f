package objectstore

import (
	"errors"
	"path"
	"slices"
	"strings"

	"bulkload/pkg/setting"
)

// kind is a protocol.
type kind string

// The protocols. Others speak S3's.
const (
	kindS3    kind = "s3"
	kindOSS   kind = "oss"
	kindOBS   kind = "obs"
	kindGCS   kind = "gs"
	kindAzure kind = "abfs"
)

// kinds are the protocols of schemes.
var kinds = map[string]kind{"s3": kindS3, "s3a": kindS3, "oss": kindOSS, "obs": kindOBS, "gs": kindGCS, "abfs": kindAzure, "abfss": kindAzure}

// Place is a parsed name such as s3://bucket/a/b.
type Place struct {
	kind    kind
	Bucket  string // of Azure the container
	Account string // of Azure: its name, or the host of its endpoint
	// Path begins with a slash. What follows is the key, as it is: nothing in it is an escape.
	Path string
}

// IsName reports whether a name is of an object store. It may be wrong otherwise.
func IsName(name string) bool {
	scheme, _, ok := strings.Cut(name, "://")
	return ok && kinds[strings.ToLower(scheme)] != ""
}

// Parse reads a name. Errors show no credentials that the name may have.
func Parse(name string) (Place, error) {
	scheme, rest, _ := strings.Cut(name, "://")
	p := Place{kind: kinds[strings.ToLower(scheme)]}
	authority, key, found := strings.Cut(rest, "/")
	p.Path, p.Bucket = "/"+key, authority
	wrong := func(format string, args ...any) (Place, error) {
		shown := scheme + "://…"
		if !strings.Contains(authority, ":") {
			shown = name
		}
		return Place{}, setting.Errorf("input %s: %w", shown, setting.Errorf(format, args...))
	}
	switch user, host, at := strings.Cut(authority, "@"); {
	case p.kind == "":
		return wrong("the scheme is not one of an object store")
	case strings.Contains(authority, ":"):
		return wrong("a bucket's name has no colon: credentials come from the environment, addresses from %s", setting.Endpoint)
	case p.kind == kindAzure:
		if p.Bucket, p.Account = user, host; !at || user == "" || host == "" {
			return wrong("want %s://CONTAINER@ACCOUNT.dfs.core.windows.net/PATH", scheme)
		}
	case at:
		return wrong("a bucket's name has no @")
	}
	if p.Bucket == "" {
		return wrong("it names no bucket")
	}
	if strings.ContainsAny(p.Bucket, "?#%*[]{}\\ ") {
		return wrong("%q is not the name of a bucket", p.Bucket)
	}
	if !found {
		return p, nil
	}
	if err := checkKey(strings.TrimSuffix(key, "/")); err != nil {
		return wrong("%w", err)
	}
	return p, nil
}

// checkKey refuses keys that are no path: cleaned, they would be the names of others.
func checkKey(key string) error {
	elements := strings.Split(key, "/")
	if key != "" && (slices.Contains(elements, "") || slices.Contains(elements, ".") || slices.Contains(elements, "..")) {
		return errors.New("a key with //, /./ or /../ cannot be named as a path: copy the object to another key")
	}
	return nil
}

// Root returns the place's bucket as messages and records name it, which no other bucket has.
func (p Place) Root() string {
	if p.kind == kindAzure {
		return "abfs://" + p.Bucket + "@" + p.Account
	}
	return string(p.kind) + "://" + p.Bucket
}

// String returns the one name of the place.
func (p Place) String() string { return p.Root() + path.Clean(p.Path) }
