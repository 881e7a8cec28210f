package hdfsio

import (
	"cmp"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"bulkload/pkg/setting"
)

// defaultNameNodePort is the port of an hdfs:// address without one (HdfsClientConfigKeys, Hadoop 3).
const defaultNameNodePort = "8020"

// Location is the target of a path that a user gave.
type Location struct {
	// Scheme is "file" or "hdfs".
	Scheme string
	// Authority is the NameNode's host:port, or the name of a nameservice. Empty for file.
	Authority string
	// Addresses are the NameNodes to try, host:port. Empty for file.
	Addresses []string
	// Logical reports whether Authority is a nameservice with failover, even of a single NameNode: Hadoop's programs look up its tokens by this name.
	Logical bool
	// Path is absolute: the name for an [FS].
	Path string
}

// Local reports whether the path is on this machine.
func (l Location) Local() bool { return l.Scheme == "file" }

// String returns the full URI for HDFS, the path for a local file.
func (l Location) String() string {
	if l.Local() {
		return l.Path
	}
	return l.URI()
}

// URI returns the path in the form that servers take: scheme, authority and path.
func (l Location) URI() string { return l.Scheme + "://" + l.Authority + l.Path }

// Join returns a location below this one. Elements that lead above it are followed, as in [path.Join].
func (l Location) Join(elem ...string) Location {
	l.Path = path.Join(append([]string{l.Path}, elem...)...)
	return l
}

// Resolve returns the location of a path. A bare path and file:// are local; a relative path is resolved against the current directory.
// hdfs://host:port/path and hdfs://nameservice/path name a cluster, hdfs:///path is on the cluster of fs.defaultFS. viewfs://table/path is followed
// to the HDFS behind it, and so is hdfs:///path if fs.defaultFS is a mount table. A router of router-based federation is treated as a NameNode. Other
// schemes are refused by name. Resolve contacts no server and does not check whether the path exists.
func (c *Conf) Resolve(name string) (Location, error) {
	scheme, rest, ok := strings.Cut(name, "://")
	if !ok {
		if name == "" {
			return Location{}, fmt.Errorf("resolve path: it is empty")
		}
		scheme, rest, ok = strings.Cut(name, ":")
		if ok && (scheme == "file" || scheme == "hdfs" || scheme == "viewfs") && strings.HasPrefix(rest, "/") {
			// file:/x and hdfs:/x, as Java prints them.
			return c.resolve(name, scheme, "", rest)
		}
		return localLocation(name)
	}
	authority, p, found := strings.Cut(rest, "/")
	if found {
		p = "/" + p
	}
	return c.resolve(name, strings.ToLower(scheme), authority, p)
}

func (c *Conf) resolve(name, scheme, authority, p string) (Location, error) {
	switch scheme {
	case "file":
		if authority != "" && authority != "localhost" {
			return Location{}, fmt.Errorf("resolve %s: a file:// path has three slashes and no host, such as file:///%s%s", name, authority, p)
		}
		return localLocation(p)
	case "hdfs":
		p = cmp.Or(p, "/")
		if authority == "" {
			if table, ok := c.defaultView(); ok {
				return c.viewfsLocation(name, table, path.Clean(p))
			}
			var err error
			if authority, err = c.defaultAuthority(name); err != nil {
				return Location{}, err
			}
		}
		if err := c.overloaded(name, authority); err != nil {
			return Location{}, err
		}
		return c.hdfsLocation(name, authority, path.Clean(p))
	case "viewfs":
		return c.viewfsLocation(name, cmp.Or(authority, c.defaultTable()), path.Clean("/"+p))
	}
	return Location{}, &SchemeError{name, scheme}
}

// SchemeError reports a name with a scheme that is neither local nor of HDFS.
type SchemeError struct{ Name, Scheme string }

func (e *SchemeError) Error() string {
	return fmt.Sprintf("resolve %s: %s:// is not supported: give an hdfs:// path or a local one", e.Name, e.Scheme)
}

func localLocation(p string) (Location, error) {
	abs, err := filepath.Abs(p)
	if err != nil {
		return Location{}, fmt.Errorf("resolve %s: %w", p, err)
	}
	return Location{Scheme: "file", Path: abs}, nil
}

// defaultAuthority returns the authority of fs.defaultFS.
func (c *Conf) defaultAuthority(name string) (string, error) {
	for _, key := range []string{"fs.defaultFS", "fs.default.name"} {
		value := c.Value(key)
		if value == "" {
			continue
		}
		u, err := url.Parse(value)
		if err != nil {
			return "", fmt.Errorf("resolve %s: %s = %q in %s: %w", name, key, value, c.props[key].File, err)
		}
		if u.Scheme != "hdfs" || u.Host == "" {
			return "", fmt.Errorf("resolve %s: %s = %q in %s is not an hdfs:// address: name the cluster in the path, as hdfs://host:port/…",
				name, key, value, c.props[key].File)
		}
		return u.Host, nil
	}
	return "", fmt.Errorf("resolve %s: it names no host and no configuration sets fs.defaultFS: set HADOOP_CONF_DIR, or write hdfs://host:port/…", name)
}

func (c *Conf) hdfsLocation(name, authority, p string) (Location, error) {
	l := Location{Scheme: "hdfs", Authority: authority, Path: p}
	if ids := c.Value("dfs.ha.namenodes." + authority); ids != "" {
		for _, id := range setting.List(ids) {
			key := "dfs.namenode.rpc-address." + authority + "." + id
			address := c.Value(key)
			if address == "" {
				return Location{}, fmt.Errorf("resolve %s: nameservice %s has a NameNode %s (dfs.ha.namenodes.%s in %s) but %s is not set",
					name, authority, id, authority, c.props["dfs.ha.namenodes."+authority].File, key)
			}
			l.Addresses = append(l.Addresses, withPort(address))
		}
		l.Logical = true
		return l, nil
	}
	provider := c.Value("dfs.client.failover.proxy.provider." + authority) // NameNodeProxiesClient.createFailoverProxyProvider
	l.Logical = provider != "" && !strings.HasSuffix(provider, ".IPFailoverProxyProvider")
	if address := c.Value("dfs.namenode.rpc-address." + authority); address != "" {
		l.Addresses = []string{withPort(address)} // a nameservice without a standby
		return l, nil
	}
	if slices.Contains(setting.List(c.Value("dfs.nameservices")), authority) {
		return Location{}, fmt.Errorf("resolve %s: nameservice %s is listed in dfs.nameservices (%s) but neither dfs.ha.namenodes.%s nor dfs.namenode.rpc-address.%s is set",
			name, authority, c.props["dfs.nameservices"].File, authority, authority)
	}
	l.Addresses = []string{withPort(authority)}
	return l, nil
}

func withPort(address string) string {
	if _, _, err := net.SplitHostPort(address); err == nil {
		return address
	}
	return net.JoinHostPort(strings.Trim(address, "[]"), defaultNameNodePort)
}

// HDFSOptions returns the options for the cluster of a location, as the configured user. The caller must add Security for a
// cluster with Kerberos.
func (c *Conf) HDFSOptions(l Location, log *slog.Logger) (HDFSOptions, error) {
	if l.Scheme != "hdfs" {
		return HDFSOptions{}, fmt.Errorf("%s is not on HDFS", l)
	}
	name, err := c.User()
	if err != nil {
		return HDFSOptions{}, err
	}
	return HDFSOptions{
		Addresses:           l.Addresses,
		User:                name,
		UseDatanodeHostname: c.Bool("dfs.client.use.datanode.hostname", false),
		Keys:                Keys{Provider: cmp.Or(c.Value("hadoop.security.key.provider.path"), c.Value("dfs.encryption.key.provider.uri"))},
		Umask:               parseUmask(c.Value("fs.permissions.umask-mode")),
		Log:                 log,
	}, nil
}
