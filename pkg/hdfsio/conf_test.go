package hdfsio

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/test/testcheck"

	"github.com/google/go-cmp/cmp"
)

// confOf writes files (name → properties XML) into one directory and loads it with an environment.
func confOf(t *testing.T, files map[string]string, env map[string]string) (*Conf, error) {
	t.Helper()
	dir := t.TempDir()
	for name, props := range files {
		text := "<?xml version=\"1.0\"?>\n<configuration>" + props + "</configuration>"
		testcheck.Must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	return LoadConf(func(name string) (string, bool) {
		if name == "HADOOP_CONF_DIR" || name == "HBASE_CONF_DIR" {
			return dir, true
		}
		v, ok := env[name]
		return v, ok
	})
}

func prop(name, value string) string {
	return "<property><name>" + name + "</name><value>" + value + "</value></property>"
}

func TestConf(t *testing.T) {
	c, err := confOf(t, map[string]string{
		"core-site.xml": prop("a", "core") + prop("host", "h1") + prop("env", "${env.X}|${env.NONE}|${env.NONE-d}|${env.EMPTY:-e}|${env.EMPTY-f}") +
			"<property><name>fixed</name><value>first</value><final>true</final></property>",
		"hdfs-site.xml":  prop("a", "hdfs") + prop("url", "hdfs://${host}:${port}/x") + prop("port", "9000") + prop("fixed", "second"),
		"hbase-site.xml": prop("a", " hbase ") + prop("loop", "${loop2}") + prop("loop2", "${loop}") + prop("nested", "${h${o}}") + prop("o", "ost"),
	}, map[string]string{"X": "x", "EMPTY": ""})
	testcheck.Must(t, err)
	for key, want := range map[string]string{
		"a": "hbase", "url": "hdfs://h1:9000/x", "fixed": "first", "nested": "h1", "none": "",
		// As in Hadoop, a reference that cannot be replaced keeps the references after it from
		// being replaced.
		"env": "x|${env.NONE}|${env.NONE-d}|${env.EMPTY:-e}|${env.EMPTY-f}",
	} {
		if got := c.Value(key); got != want {
			t.Errorf("%s = %q, want %q", key, got, want)
		}
	}
	if got := c.expand("${env.NONE-d}|${env.EMPTY:-e}|${env.EMPTY-f}|${env.X}"); got != "d|e||x" {
		t.Errorf("environment references: %q", got)
	}
	if got := c.Value("loop"); !strings.Contains(got, "${loop") {
		t.Errorf("loop = %q", got)
	}
	if p, _ := c.Lookup("a"); filepath.Base(p.File) != "hbase-site.xml" {
		t.Errorf("a comes from %s", p.File)
	}
	c.Set("a", "flag", "--zookeeper")
	if p, _ := c.Lookup("a"); p.Value != "flag" || p.File != "--zookeeper" {
		t.Errorf("a after Set: %+v", p)
	}
	var files []string
	for _, name := range c.Files() {
		files = append(files, filepath.Base(name))
	}
	if want := []string{"core-site.xml", "hdfs-site.xml", "hbase-site.xml"}; !slices.Equal(files, want) {
		t.Errorf("read %q, want %q", files, want)
	}
}

// TestConfForms checks the forms of files that Hadoop reads: properties as attributes, versions and encodings of XML, booleans in any case.
func TestConfForms(t *testing.T) {
	name := filepath.Join(t.TempDir(), "core-site.xml")
	read := func(text string) (*Conf, error) {
		testcheck.Must(t, os.WriteFile(name, []byte(text), 0o600))
		c := &Conf{}
		return c, c.ReadFile(name)
	}
	const site = "<configuration><property name=\"a\" value=\" x\xe4 \"/><property><name>b</name><value>y</value></property>" +
		"<property name=\"c\" final=\"true\"><value>z</value></property><property name=\"c\" value=\"later\"/></configuration>"
	for _, head := range []string{"<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?>", "<?xml version='1.1'\n encoding='latin1' standalone='yes' ?>\n"} {
		c, err := read(head + site)
		if err != nil || c.Value("a") != "x\u00e4" || c.Value("b") != "y" || c.Value("c") != "z" {
			t.Errorf("%s: %q %q %q, %v", head, c.Value("a"), c.Value("b"), c.Value("c"), err)
		}
	}
	for _, head := range []string{"", "<?xml version=\"1.1\"?>", "<?xml version=\"1.0\" encoding=\"us-ascii\"?>", "\ufeff<?xml version=\"1.0\" encoding=\"utf-8\"?>"} {
		if c, err := read(head + strings.ReplaceAll(site, "\xe4", "\u00e4")); err != nil || c.Value("a") != "x\u00e4" {
			t.Errorf("%s: %q, %v", head, c.Value("a"), err)
		}
	}
	if _, err := read("<?xml version=\"1.0\" encoding=\"UTF-16\"?>" + site); err == nil || !strings.Contains(err.Error(), "encoding UTF-16 is not supported") {
		t.Errorf("UTF-16: %v", err)
	}
	c := &Conf{}
	for value, want := range map[string]bool{"TRUE": true, " False ": false, "no": true, "": true} {
		if c.Set("k", value, "test"); c.Bool("k", true) != want {
			t.Errorf("%q is not %v", value, want)
		}
	}
}

func TestConfBad(t *testing.T) {
	for props, want := range map[string]string{
		"<property><name>a":                     "XML syntax error on line 2: element <name> closed by </configuration>",
		"<property><value>x</value></property>": "line 2: a property without a name",
		`<include href="x"/>`:                   "line 2: <include> is not supported here: write the properties into the file itself",
	} {
		_, err := confOf(t, map[string]string{"core-site.xml": props}, nil)
		if at, why, ok := strings.Cut(fmt.Sprint(err), "core-site.xml: "); !ok || !strings.HasPrefix(at, "configuration /") || why != want {
			t.Errorf("%s: %v, want %s", props, err, want)
		}
	}
	_, err := LoadConf(func(name string) (string, bool) { return "/no/such/dir", name == "HADOOP_CONF_DIR" })
	if !errors.Is(err, os.ErrNotExist) || !strings.HasPrefix(err.Error(), "configuration directory of HADOOP_CONF_DIR: ") {
		t.Errorf("missing directory: %v", err)
	}
}

func TestResolve(t *testing.T) {
	cwd, err := os.Getwd()
	testcheck.Must(t, err)
	c, err := confOf(t, map[string]string{
		"core-site.xml": prop("fs.defaultFS", "hdfs://ns"),
		"hdfs-site.xml": prop("dfs.nameservices", "ns,broken,half") + prop("dfs.ha.namenodes.ns", "a, b") +
			prop("dfs.namenode.rpc-address.ns.a", "h1:9000") + prop("dfs.namenode.rpc-address.ns.b", "h2") +
			prop("dfs.ha.namenodes.half", "a,b") + prop("dfs.namenode.rpc-address.half.a", "h1:9000"),
	}, nil)
	testcheck.Must(t, err)
	ha := []string{"h1:9000", "h2:8020"}
	for in, want := range map[string]Location{
		"x/y":               {Scheme: "file", Path: filepath.Join(cwd, "x/y")},
		"/x/../y":           {Scheme: "file", Path: "/y"},
		"a:b":               {Scheme: "file", Path: filepath.Join(cwd, "a:b")},
		"file:///x y":       {Scheme: "file", Path: "/x y"},
		"file:/x":           {Scheme: "file", Path: "/x"},
		"hdfs:///p":         {Scheme: "hdfs", Authority: "ns", Addresses: ha, Logical: true, Path: "/p"},
		"hdfs:/p":           {Scheme: "hdfs", Authority: "ns", Addresses: ha, Logical: true, Path: "/p"},
		"hdfs://ns/p/":      {Scheme: "hdfs", Authority: "ns", Addresses: ha, Logical: true, Path: "/p"},
		"hdfs://ns":         {Scheme: "hdfs", Authority: "ns", Addresses: ha, Logical: true, Path: "/"},
		"hdfs://h:99/a/../": {Scheme: "hdfs", Authority: "h:99", Addresses: []string{"h:99"}, Path: "/"},
		"HDFS://h/a":        {Scheme: "hdfs", Authority: "h", Addresses: []string{"h:8020"}, Path: "/a"},
	} {
		got, err := c.Resolve(in)
		if err != nil {
			t.Errorf("%s: %v", in, err)
		} else if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", in, diff)
		}
	}
	site := c.Files()[1]
	for in, want := range map[string]string{
		"":              "resolve path: it is empty",
		"viewfs://c/x":  "resolve viewfs://c/x: no mount table c is configured: set HADOOP_CONF_DIR to the directory whose core-site.xml has fs.viewfs.mounttable.c.link.*, or give the hdfs:// path",
		"s3a://b/x":     "resolve s3a://b/x: s3a:// is not supported: give an hdfs:// path or a local one",
		"ftp://h/x":     "resolve ftp://h/x: ftp:// is not supported: give an hdfs:// path or a local one",
		"file://host/x": "resolve file://host/x: a file:// path has three slashes and no host, such as file:///host/x",
		"hdfs://broken/x": "resolve hdfs://broken/x: nameservice broken is listed in dfs.nameservices (" + site +
			") but neither dfs.ha.namenodes.broken nor dfs.namenode.rpc-address.broken is set",
		"hdfs://half/x": "resolve hdfs://half/x: nameservice half has a NameNode b (dfs.ha.namenodes.half in " + site + ") but dfs.namenode.rpc-address.half.b is not set",
	} {
		if _, err := c.Resolve(in); fmt.Sprint(err) != want {
			t.Errorf("%q: %v\nwant %s", in, err, want)
		}
	}
	if _, err := (&Conf{}).Resolve("hdfs:///x"); err == nil || !strings.Contains(err.Error(), "HADOOP_CONF_DIR") {
		t.Errorf("no default file system: %v", err)
	}
	if got := must1(c.Resolve("hdfs://ns/a")).Join("b", "../c").URI(); got != "hdfs://ns/a/c" {
		t.Errorf("join: %s", got)
	}
}

func must1[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestUserAndKerberos(t *testing.T) {
	c, err := confOf(t, map[string]string{
		"core-site.xml": prop("fs.defaultFS", "hdfs://h") + prop("hadoop.security.authentication", "Kerberos"),
	}, map[string]string{"HADOOP_USER_NAME": "me"})
	testcheck.Must(t, err)
	if !c.Kerberos(HadoopAuthentication) || c.Kerberos(HBaseAuthentication) {
		t.Error("core-site.xml asks for Kerberos, no other file does")
	}
	if u, err := c.User(); u != "me" || err != nil {
		t.Fatalf("user: %q, %v", u, err)
	}
}

func TestQuorum(t *testing.T) {
	c := &Conf{}
	if c.Quorum() != "" || c.Znode() != "/hbase" {
		t.Fatalf("empty: %q, %q", c.Quorum(), c.Znode())
	}
	c.Set("hbase.zookeeper.quorum", "a, b:1 ,c", "test")
	c.Set("hbase.zookeeper.property.clientPort", "99", "test")
	if got := c.Quorum(); got != "a:99,b:1,c:99" {
		t.Fatal(got)
	}
}

// FuzzConf checks that no configuration text causes a panic or an endless loop.
func FuzzConf(f *testing.F) {
	f.Add("<configuration>" + prop("a", "${b}") + prop("b", "${a}}${") + "</configuration>")
	f.Add("<configuration><property><name>a</name><value>${env.X:-}</value></property></configuration>")
	f.Fuzz(func(t *testing.T, text string) {
		c := &Conf{Env: func(string) (string, bool) { return "", false }}
		if c.parse("f", []byte(text)) != nil {
			return
		}
		for key := range c.props {
			c.Value(key)
		}
	})
}
