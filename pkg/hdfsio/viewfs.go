package hdfsio

import (
	"cmp"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"
)

// Keys of mount tables (Constants of org.apache.hadoop.fs.viewfs, Hadoop 3.4): the prefix, the name of the table, a point,
// and one of the keys below.
const (
	mountTables      = "fs.viewfs.mounttable."
	mountLink        = "link." // then the path in the table
	mountFallback    = "linkFallback"
	defaultTableKey  = "fs.viewfs.mounttable.default.name.key"
	overloadedScheme = "fs.hdfs.impl"
)

// mountedLink is a path of a mount table and its target.
type mountedLink struct {
	path   string // absolute and clean
	target string
	key    string
}

// mountTable is the configuration of one table.
type mountTable struct {
	links    []mountedLink // by path
	fallback *mountedLink  // target of all other paths; nil if there is none
	refused  []mountedLink // links of unsupported types, with their paths
}

// viewfsLocation follows a path of a mount table to its HDFS, as Hadoop's ViewFileSystem does: by the longest link that
// matches, otherwise by the fallback. A path must lead to one HDFS. Paths above links, and paths with further links
// below them, are refused, since some of the entries that Hadoop lists there would be missing.
func (c *Conf) viewfsLocation(name, table, p string) (Location, error) {
	t, err := c.mountTable(name, table)
	if err != nil {
		return Location{}, err
	}
	fixed := literal(p)
	for _, l := range t.refused {
		if l.path == "" || within(fixed, l.path) || within(l.path, fixed) {
			return Location{}, fmt.Errorf("resolve %s: %s (%s) is not supported, only link.* and linkFallback are: give the hdfs:// path", name, l.key, c.props[l.key].File)
		}
	}
	var found *mountedLink
	for i, l := range t.links {
		if within(l.path, fixed) && l.path != fixed {
			return Location{}, fmt.Errorf("resolve %s: %s is below it (%s), on another file system: name the directories below one by one, or give an hdfs:// path", name, l.path, c.props[l.key].File)
		}
		if within(fixed, l.path) && (found == nil || len(l.path) > len(found.path)) {
			found = &t.links[i]
		}
	}
	found = cmp.Or(found, t.fallback)
	if found == nil {
		var paths []string
		for _, l := range t.links {
			paths = append(paths, l.path)
		}
		return Location{}, fmt.Errorf("resolve %s: no link of the mount table %s leads there (it has %s, and no linkFallback)", name, table, strings.Join(paths, ", "))
	}
	l, err := c.mountTarget(name, *found)
	if err != nil {
		return Location{}, err
	}
	return l.Join(strings.TrimPrefix(p, found.path)), nil
}

// literal returns the part of a path before the first element that may be a pattern.
func literal(p string) string {
	at := strings.IndexAny(p, `*?[{\`)
	if at < 0 {
		return p
	}
	return cmp.Or(strings.TrimSuffix(p[:strings.LastIndexByte(p[:at], '/')+1], "/"), "/")
}

// within reports whether a clean path equals dir or is below it.
func within(p, dir string) bool {
	return p == dir || dir == "/" || strings.HasPrefix(p, dir+"/")
}

// mountTable reads a table. The target of a link is resolved only when a path leads there.
func (c *Conf) mountTable(name, table string) (mountTable, error) {
	var t mountTable
	prefix := mountTables + table + "."
	for key := range c.props {
		rest, ok := strings.CutPrefix(key, prefix)
		if !ok || !strings.HasPrefix(rest, "link") {
			continue // homedir and others
		}
		l := mountedLink{key: key, target: c.Value(key)}
		kind, src, _ := strings.Cut(rest, "/")
		if strings.Contains(rest, "/") {
			l.path = path.Clean("/" + src)
		}
		switch {
		case rest == mountFallback:
			t.fallback = &l
		case kind == mountLink && l.path != "":
			if slices.ContainsFunc(t.links, func(o mountedLink) bool { return o.path == l.path }) {
				return t, fmt.Errorf("resolve %s: the mount table %s has two links %s", name, table, l.path)
			}
			t.links = append(t.links, l)
		case strings.HasPrefix(rest, "linkNfly") && l.path != "", strings.HasPrefix(rest, "linkMerge.") && l.path != "":
			t.refused = append(t.refused, l)
		default: // linkMergeSlash, linkRegex, and unknown types: they may concern every path
			l.path = ""
			t.refused = append(t.refused, l)
		}
	}
	byPath := func(a, b mountedLink) int { return cmp.Or(cmp.Compare(a.path, b.path), cmp.Compare(a.key, b.key)) }
	slices.SortFunc(t.links, byPath)
	slices.SortFunc(t.refused, byPath)
	if len(t.links) == 0 && t.fallback == nil && len(t.refused) == 0 {
		return t, fmt.Errorf("resolve %s: no mount table %s is configured: set HADOOP_CONF_DIR to the directory whose core-site.xml has %slink.*, or give the hdfs:// path", name, table, prefix)
	}
	return t, nil
}

func (c *Conf) mountTarget(name string, l mountedLink) (Location, error) {
	u, err := url.Parse(l.target)
	if err != nil {
		return Location{}, fmt.Errorf("resolve %s: %s = %q (%s): %w", name, l.key, l.target, c.props[l.key].File, err)
	}
	if strings.ToLower(u.Scheme) != "hdfs" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return Location{}, fmt.Errorf("resolve %s: %s = %q (%s) is not an hdfs:// address with a host: only HDFS can be read and written there", name, l.key, l.target, c.props[l.key].File)
	}
	return c.resolve(name, "hdfs", u.Host, cmp.Or(u.Path, "/"))
}

// defaultTable returns the mount table of viewfs:/// paths.
func (c *Conf) defaultTable() string {
	if table, ok := c.defaultView(); ok {
		return table
	}
	return cmp.Or(c.Value(defaultTableKey), "default")
}

// defaultView returns the mount table of fs.defaultFS; false if it is not a mount table.
func (c *Conf) defaultView() (table string, ok bool) {
	u, err := url.Parse(cmp.Or(c.Value("fs.defaultFS"), c.Value("fs.default.name")))
	if err != nil || strings.ToLower(u.Scheme) != "viewfs" {
		return "", false
	}
	return cmp.Or(u.Host, c.Value(defaultTableKey), "default"), true
}

// overloaded refuses hdfs:// paths that Hadoop itself would resolve through a mount table.
func (c *Conf) overloaded(name, authority string) error {
	class := c.Value(overloadedScheme)
	short := class[strings.LastIndexByte(class, '.')+1:]
	if short != "ViewFileSystemOverloadScheme" && short != "ViewDistributedFileSystem" {
		return nil
	}
	host, _, _ := strings.Cut(authority, ":") // tables have no port in their names
	for key := range c.props {
		if strings.HasPrefix(key, mountTables+host+".link") {
			return fmt.Errorf("resolve %s: %s = %s (%s) has hdfs://%s paths led through a mount table, which is not supported: name the HDFS itself in a configuration without that key",
				name, overloadedScheme, class, c.props[overloadedScheme].File, authority)
		}
	}
	return nil
}
