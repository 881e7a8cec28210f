package objectstore

import (
	"errors"
	"path"
	"slices"
	"strings"

	"bulkload/pkg/setting"
)

// kind is the name of a protocol, or of a provider with S3's protocol.
type kind string

// The kinds. OSS and OBS have S3's protocol.
const (
	kindS3    kind = "s3"
	kindOSS   kind = "oss"
	kindOBS   kind = "obs"
	kindGCS   kind = "gs"
	kindAzure kind = "abfs"
)

// kinds maps schemes to kinds.
var kinds = map[string]kind{"s3": kindS3, "s3a": kindS3, "oss": kindOSS, "obs": kindOBS, "gs": kindGCS, "abfs": kindAzure, "abfss": kindAzure}

// Place is a parsed name such as s3://bucket/a/b.
type Place struct {
	kind    kind
	Bucket  string // for Azure, the container
	Account string // for Azure, the account's name, or the host of its endpoint; otherwise empty
	// Path is a slash and the key. The key is literal: nothing in it is an escape.
	Path string
}

// IsName reports whether a name has the scheme of an object store. It does not check the rest of the name.
func IsName(name string) bool {
	scheme, _, ok := strings.Cut(name, "://")
	return ok && kinds[strings.ToLower(scheme)] != ""
}

// Parse parses a name. Errors do not show credentials in the name.
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

// checkKey returns an error for a key that is not a clean path: cleaned, it would name another object.
func checkKey(key string) error {
	elements := strings.Split(key, "/")
	if key != "" && (slices.Contains(elements, "") || slices.Contains(elements, ".") || slices.Contains(elements, "..")) {
		return errors.New("a key with //, /./ or /../ cannot be named as a path: copy the object to another key")
	}
	return nil
}

// Root returns the bucket's unique name for messages and records.
func (p Place) Root() string {
	if p.kind == kindAzure {
		return "abfs://" + p.Bucket + "@" + p.Account
	}
	return string(p.kind) + "://" + p.Bucket
}

// String returns the canonical name of the place: that of all names with the same key.
func (p Place) String() string { return p.Root() + path.Clean(p.Path) }
