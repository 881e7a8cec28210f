package hdfsio

import (
	"fmt"
	"strings"
	"testing"

	"bulkload/internal/test/testcheck"
)

func TestViewFS(t *testing.T) {
	link := func(table, src, target string) string {
		return prop("fs.viewfs.mounttable."+table+".link."+src, target)
	}
	other := func(table, kind, target string) string { return prop("fs.viewfs.mounttable."+table+"."+kind, target) }
	c, err := confOf(t, map[string]string{
		"core-site.xml": prop("fs.defaultFS", "viewfs://c") + prop("root", "hdfs://ns/warehouse") +
			prop("fs.viewfs.mounttable.c.homedir", "/user") +
			link("c", "/data", "hdfs://ns/big/data") + link("c", "/data/cold", "hdfs://h2:9000/cold/") + link("c", "/tmp/", "hdfs://ns/tmp") +
			link("c", "/wh", "${root}") + link("c", "/a/b/c", "hdfs://h3") + link("c", "/s", "s3a://b/x") + link("c", "/l", "file:///x") +
			link("c", "/v", "viewfs://d/x") + link("c", "/nohost", "hdfs:///x") + link("c", "/odd name", "hdfs://ns/odd%20name") +
			other("c", "linkNfly.minReplication=2./nfly", "hdfs://h1/x,hdfs://h2/x") + other("c", "linkMerge./merged", "hdfs://h1/x,hdfs://h2/x") +
			link("f", "/data", "hdfs://ns/data") + link("f", "/u/x", "hdfs://ns/ux") + other("f", "linkFallback", "hdfs://h9/rest") +
			other("slash", "linkMergeSlash", "hdfs://ns/") +
			link("regex", "/data", "hdfs://ns/data") + other("regex", "linkRegex.#.^/(\\w+)", "hdfs://ns/x") +
			link("twice", "/data", "hdfs://ns/a") + link("twice", "/data/", "hdfs://ns/b"),
		"hdfs-site.xml": prop("dfs.nameservices", "ns") + prop("dfs.ha.namenodes.ns", "a") + prop("dfs.namenode.rpc-address.ns.a", "h1"),
	}, nil)
	testcheck.Must(t, err)
	for in, want := range map[string]string{
		"viewfs://c/data/x/y":       "hdfs://ns/big/data/x/y",
		"viewfs:///data/x":          "hdfs://ns/big/data/x",
		"viewfs:/data/x":            "hdfs://ns/big/data/x",
		"hdfs:///tmp/bulkload-u":    "hdfs://ns/tmp/bulkload-u",
		"viewfs://c/data/cold":      "hdfs://h2:9000/cold",
		"viewfs://c/data/cold/x":    "hdfs://h2:9000/cold/x",
		"viewfs://c/data/colder/x":  "hdfs://ns/big/data/colder/x",
		"viewfs://c/data/x/../cold": "hdfs://h2:9000/cold",
		"viewfs://c/data/x/*.csv":   "hdfs://ns/big/data/x/*.csv",
		"viewfs://c/tmp":            "hdfs://ns/tmp",
		"viewfs://c/wh/t":           "hdfs://ns/warehouse/t",
		"viewfs://c/a/b/c/d":        "hdfs://h3/d",
		"viewfs://c/odd name/x":     "hdfs://ns/odd name/x",
		"VIEWFS://f/data/x":         "hdfs://ns/data/x",
		"viewfs://f/other/x":        "hdfs://h9/rest/other/x",
		"viewfs://f/u/y":            "hdfs://h9/rest/u/y",
		"viewfs://f/u/y/{a,b}":      "hdfs://h9/rest/u/y/{a,b}",
		"hdfs://router:8888/data":   "hdfs://router:8888/data",
	} {
		got, err := c.Resolve(in)
		if err != nil || got.String() != want {
			t.Errorf("%s: %s, %v; want %s", in, got, err, want)
		}
	}
	if l := must1(c.Resolve("viewfs://c/wh/t")); len(l.Addresses) != 1 || l.Addresses[0] != "h1:8020" {
		t.Errorf("addresses %v", l.Addresses)
	}
	for in, want := range map[string]string{
		"viewfs://c/data":         "/data/cold is below it",
		"viewfs://c/data/*":       "/data/cold is below it",
		"viewfs://c/data/c[a-z]*": "/data/cold is below it",
		"viewfs://c/":             "linkMerge./merged",
		"viewfs://c":              "linkMerge./merged",
		"viewfs://c/a":            "/a/b/c is below it",
		"viewfs://c/{data,tmp}/x": "linkMerge./merged",
		"viewfs://f/u":            "/u/x is below it",
		"viewfs://f":              "/data is below it",
		"viewfs://f/{data,u}/x":   "/data is below it",
		"viewfs://c/elsewhere":    "no link of the mount table c leads there (it has /a/b/c, /data, ",
		"viewfs://c/s/x":          `fs.viewfs.mounttable.c.link./s = "s3a://b/x"`,
		"viewfs://c/l/x":          "is not an hdfs:// address with a host",
		"viewfs://c/v/x":          "is not an hdfs:// address with a host",
		"viewfs://c/nohost/x":     "is not an hdfs:// address with a host",
		"viewfs://c/nfly/x":       "fs.viewfs.mounttable.c.linkNfly.minReplication=2./nfly",
		"viewfs://c/merged":       "fs.viewfs.mounttable.c.linkMerge./merged",
		"viewfs://slash/x":        "fs.viewfs.mounttable.slash.linkMergeSlash",
		"viewfs://regex/data/x":   "fs.viewfs.mounttable.regex.linkRegex.",
		"viewfs://twice/data/x":   "the mount table twice has two links /data",
		"viewfs://none/x":         "no mount table none is configured",
	} {
		got, err := c.Resolve(in)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "resolve "+in+": ") {
			t.Errorf("%s: %s, error %v; want %s", in, got, err, want)
		}
	}

	o, err := confOf(t, map[string]string{"core-site.xml": prop("fs.defaultFS", "hdfs://ns") +
		prop("fs.hdfs.impl", "org.apache.hadoop.fs.viewfs.ViewFileSystemOverloadScheme") + link("ns", "/data", "hdfs://h2/data") +
		prop("fs.viewfs.mounttable.default.name.key", "c") + link("c", "/data", "hdfs://h2/data")}, nil)
	testcheck.Must(t, err)
	for _, in := range []string{"hdfs://ns/data/x", "hdfs:///data", "hdfs://ns:8020/x"} {
		if got, err := o.Resolve(in); err == nil || !strings.Contains(err.Error(), "fs.hdfs.impl") {
			t.Errorf("%s: %s, %v", in, got, err)
		}
	}
	if got := fmt.Sprint(must1(o.Resolve("hdfs://h2/data"))); got != "hdfs://h2/data" {
		t.Error(got)
	}
	if got := fmt.Sprint(must1(o.Resolve("viewfs:///data/x"))); got != "hdfs://h2/data/x" {
		t.Error(got)
	}
}

// FuzzViewFS checks that a path has at most one location, below the target of the link
// that leads to it.
func FuzzViewFS(f *testing.F) {
	c := &Conf{}
	for key, value := range map[string]string{
		"link./data": "hdfs://a/x", "link./data/cold": "hdfs://b/y", "link./t": "hdfs://c", "linkFallback": "hdfs://d/z",
	} {
		c.Set("fs.viewfs.mounttable.m."+key, value, "test")
	}
	for _, p := range []string{"/data", "/data/cold/x", "/t/../data/x", "//t//x", "/data/c*", "/..", "", "/\\"} {
		f.Add(p)
	}
	f.Fuzz(func(t *testing.T, p string) {
		l, err := c.Resolve("viewfs://m/" + strings.TrimPrefix(p, "/"))
		if err != nil {
			return
		}
		base := map[string]string{"a": "/x", "b": "/y", "c": "/", "d": "/z"}[l.Authority]
		if base == "" || !within(l.Path, base) {
			t.Fatalf("%q leads to %s", p, l)
		}
	})
}
