package hdfsio

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"bulkload/pkg/setting"
)

// Property is a configuration value and its origin.
type Property struct {
	Value string // as written, ${…} not yet replaced
	File  string // path of the file, or the name given to Set
	final bool
}

// Conf is a Hadoop configuration: core-site.xml, hdfs-site.xml, ssl-client.xml and hbase-site.xml. Later files override earlier ones,
// except for final values. The zero value is an empty configuration. Any number of goroutines may read it, as long as none calls
// ReadFile or Set.
type Conf struct {
	// Env looks up environment variables, for ${env.X}, HADOOP_USER_NAME and the like. Nil: the process's.
	Env   func(string) (string, bool)
	props map[string]Property
	files []string
}

// LoadConf reads the configuration that the environment names: core-site.xml, hdfs-site.xml and ssl-client.xml of HADOOP_CONF_DIR,
// then of HBASE_CONF_DIR, then hbase-site.xml of both. Missing files are skipped, and without either variable the configuration is
// empty. A missing directory is an error that matches [fs.ErrNotExist]; an invalid XML file is an error that names it. A nil env
// means the process's environment.
func LoadConf(env func(string) (string, bool)) (*Conf, error) {
	c := &Conf{Env: env}
	var dirs []string
	for _, name := range []string{"HADOOP_CONF_DIR", "HBASE_CONF_DIR"} {
		dir, ok := c.env(name)
		if !ok || dir == "" {
			continue
		}
		if info, err := os.Stat(dir); err != nil {
			return nil, fmt.Errorf("configuration directory of %s: %w", name, err)
		} else if !info.IsDir() {
			return nil, fmt.Errorf("configuration directory of %s: %s is not a directory", name, dir)
		}
		if dir = filepath.Clean(dir); !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	for _, file := range []string{"core-site.xml", "hdfs-site.xml", "ssl-client.xml", "hbase-site.xml"} {
		for _, dir := range dirs {
			err := c.ReadFile(filepath.Join(dir, file))
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, err
			}
		}
	}
	return c, nil
}

// ReadFile adds the properties of one file. They override existing properties, except final ones. The error for a
// missing file matches [fs.ErrNotExist].
func (c *Conf) ReadFile(name string) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	if err := c.parse(name, text); err != nil {
		return fmt.Errorf("configuration %s: %w", name, err)
	}
	c.files = append(c.files, name)
	return nil
}

// Files returns the paths of the files read, in order: a later one overrides an earlier one. The caller owns the slice.
func (c *Conf) Files() []string { return slices.Clone(c.files) }

// Set overrides a property permanently, even a final one. from describes the origin, such as a flag's name, and becomes
// the property's File.
func (c *Conf) Set(key, value, from string) {
	if c.props == nil {
		c.props = map[string]Property{}
	}
	c.props[key] = Property{Value: value, File: from, final: true}
}

// Lookup returns a property as written, with its origin; false if no file and no Set defines it.
func (c *Conf) Lookup(key string) (Property, bool) {
	p, ok := c.props[key]
	return p, ok
}

// Value returns a property with ${name}, ${env.NAME}, ${env.NAME-default} and ${env.NAME:-default} replaced, or "" if it is
// not set. As in Hadoop's Configuration, an undefined reference is left unchanged.
func (c *Conf) Value(key string) string {
	return c.expand(c.props[key].Value)
}

// Bool returns a property that is true or false, in any case, and the default for any other value, as Configuration.getBoolean.
func (c *Conf) Bool(key string, without bool) bool {
	switch strings.ToLower(strings.TrimSpace(c.Value(key))) {
	case "true":
		return true
	case "false":
		return false
	}
	return without
}

// maxExpansions is Hadoop's limit (Configuration.MAX_SUBST), which also ends circular references.
const maxExpansions = 20

func (c *Conf) expand(s string) string {
	for range maxExpansions {
		// The innermost reference first: the last "${" before the first "}" that follows one.
		end, start := 0, -1
		for {
			i := strings.IndexByte(s[end:], '}')
			if i < 0 {
				return s
			}
			end += i
			if start = strings.LastIndex(s[:end], "${"); start >= 0 {
				break
			}
			end++
		}
		value, ok := c.reference(s[start+2 : end])
		if !ok {
			return s
		}
		s = s[:start] + value + s[end+1:]
	}
	return s
}

func (c *Conf) reference(name string) (string, bool) {
	if rest, ok := strings.CutPrefix(name, "env."); ok {
		variable, fallback, has := strings.Cut(rest, "-")
		variable, orEmpty := strings.CutSuffix(variable, ":")
		value, set := c.env(variable)
		switch {
		case set && (value != "" || !orEmpty):
			return value, true
		default:
			return fallback, has
		}
	}
	if p, ok := c.props[name]; ok {
		return p.Value, true
	}
	if name == "user.name" { // a Java system property that configurations like to use
		user, err := unixUser()
		return user, err == nil
	}
	return "", false
}

func (c *Conf) env(name string) (string, bool) {
	if c.Env != nil {
		return c.Env(name)
	}
	return os.LookupEnv(name)
}

// declaration matches the first line of an XML file, and its encoding.
var declaration = regexp.MustCompile(`^(?:\x{feff})?\s*<\?xml\s[^>]*?(?:encoding\s*=\s*["']([^"']*)["'][^>]*)?\?>`)

// plainXML returns a file without its declaration, and in UTF-8: the library reads neither version 1.1 nor other encodings. Lines stay.
func plainXML(text []byte) ([]byte, error) {
	m := declaration.FindSubmatchIndex(text)
	if m == nil {
		return text, nil
	}
	encoding := ""
	if m[2] >= 0 {
		encoding = string(text[m[2]:m[3]])
	}
	head := strings.Repeat("\n", bytes.Count(text[:m[1]], []byte("\n")))
	switch text = text[m[1]:]; strings.ToLower(encoding) {
	case "", "utf-8", "utf8", "us-ascii", "ascii":
	case "iso-8859-1", "iso8859-1", "iso8859_1", "latin1", "latin-1":
		runes := make([]rune, len(text))
		for i, b := range text {
			runes[i] = rune(b)
		}
		text = []byte(string(runes))
	default:
		return nil, fmt.Errorf("encoding %s is not supported: write the file in UTF-8", setting.Shorten(encoding, 40))
	}
	return append([]byte(head), text...), nil
}

// parse reads <configuration><property><name/><value/><final/></property>…</configuration>, or name, value and final as attributes of a property.
func (c *Conf) parse(file string, text []byte) error {
	if c.props == nil {
		c.props = map[string]Property{}
	}
	text, err := plainXML(text)
	if err != nil {
		return err
	}
	d := xml.NewDecoder(bytes.NewReader(text))
	for {
		token, err := d.Token()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		start, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		switch start.Name.Local {
		case "configuration":
		case "property":
			line, _ := d.InputPos()
			var p struct {
				Name   string  `xml:"name"`
				Value  *string `xml:"value"`
				Final  string  `xml:"final"`
				Named  string  `xml:"name,attr"`
				Valued *string `xml:"value,attr"`
				Sealed string  `xml:"final,attr"`
			}
			if err := d.DecodeElement(&p, &start); err != nil {
				return err
			}
			name := strings.TrimSpace(cmp.Or(p.Name, p.Named))
			p.Value, p.Final = cmp.Or(p.Value, p.Valued), cmp.Or(p.Final, p.Sealed)
			if name == "" {
				return fmt.Errorf("line %d: a property without a name", line)
			}
			if p.Value == nil || c.props[name].final {
				continue
			}
			c.props[name] = Property{
				Value: strings.TrimSpace(*p.Value),
				File:  file,
				final: strings.TrimSpace(p.Final) == "true",
			}
		default:
			line, _ := d.InputPos()
			return fmt.Errorf("line %d: <%s> is not supported here: write the properties into the file itself", line, start.Name.Local)
		}
	}
}

// User returns the user name for simple authentication: HADOOP_USER_NAME, otherwise the unix user.
func (c *Conf) User() (string, error) {
	if name, ok := c.env("HADOOP_USER_NAME"); ok && name != "" {
		return name, nil
	}
	return unixUser()
}

func unixUser() (string, error) {
	u, err := user.Current()
	if err != nil {
		return "", fmt.Errorf("find the current user (set HADOOP_USER_NAME to name one): %w", err)
	}
	return u.Username, nil
}

// Keys that select how users authenticate.
const (
	HadoopAuthentication = "hadoop.security.authentication"
	HBaseAuthentication  = "hbase.security.authentication"
)

// Kerberos reports whether a key is set to kerberos.
func (c *Conf) Kerberos(key string) bool { return strings.EqualFold(c.Value(key), "kerberos") }

// Quorum returns ZooKeeper's servers as comma-separated host:port, from hbase.zookeeper.quorum
// and hbase.zookeeper.property.clientPort (2181 if absent). It is "" if no quorum is configured.
func (c *Conf) Quorum() string {
	port := cmp.Or(c.Value("hbase.zookeeper.property.clientPort"), "2181")
	hosts := setting.List(c.Value("hbase.zookeeper.quorum"))
	for i, host := range hosts {
		if !strings.Contains(host, ":") {
			hosts[i] += ":" + port
		}
	}
	return strings.Join(hosts, ",")
}

// Znode returns HBase's root in ZooKeeper: zookeeper.znode.parent or /hbase.
func (c *Conf) Znode() string { return cmp.Or(c.Value("zookeeper.znode.parent"), "/hbase") }
