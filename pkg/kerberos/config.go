package kerberos

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/jcmturner/gokrb5/v8/config"
	"github.com/jcmturner/gokrb5/v8/iana/etypeID"
)

// Config holds the realms and KDCs of krb5.conf. It does not change after it was read.
type Config struct {
	Path string // the path that was read, several separated by colons
	krb5 *config.Config

	cache string // default_ccache_name, empty if there is none
}

// DefaultPath is the path of the configuration of MIT's libraries.
const DefaultPath = "/etc/krb5.conf"

// LoadConfig reads krb5.conf as MIT's libraries do: a path may be several, separated by colons, and those that exist are read, a directory like one of
// includedir; include and includedir are followed; the first value of a key counts. The KDCs of a realm that has none there are in DNS, unless dns_lookup_kdc is false. For an empty path it uses KRB5_CONFIG, or else [DefaultPath].
func LoadConfig(path string) (*Config, error) {
	path = cmp.Or(path, os.Getenv("KRB5_CONFIG"), DefaultPath)
	p := profile{seen: map[string]bool{}}
	found := false
	for _, one := range filepath.SplitList(path) {
		read := p.read
		if info, err := os.Stat(one); err == nil && info.IsDir() {
			read = p.readDir
		}
		err := read(one)
		if e, ok := errors.AsType[*fs.PathError](err); ok && e.Path == one && errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		found = true
	}
	if !found {
		return nil, fmt.Errorf("kerberos configuration %s: %w (KRB5_CONFIG names another place)", path, fs.ErrNotExist)
	}
	text, err := p.text()
	if err != nil {
		return nil, fmt.Errorf("kerberos configuration %s: %w", path, err)
	}
	k, err := parse(text)
	if _, unsupported := errors.AsType[config.UnsupportedDirective](err); err != nil && !unsupported {
		return nil, fmt.Errorf("kerberos configuration %s: %w", path, err)
	}
	return &Config{Path: path, krb5: k, cache: p.cache}, nil
}

// parse parses a configuration with gokrb5. Its parser panics on misplaced braces.
func parse(text string) (k *config.Config, err error) {
	defer func() {
		if recover() != nil {
			k, err = nil, errors.New("a line is not of the form that krb5.conf has")
		}
	}()
	return config.NewFromString(text)
}

// Realm returns the default realm, empty if there is none.
func (c *Config) Realm() string { return c.krb5.LibDefaults.DefaultRealm }

// profile holds the lines of configuration files by section, in MIT's syntax (doc/admin/conf_files/krb5_conf of MIT Kerberos 1.20).
type profile struct {
	seen    map[string]bool // files that were opened
	libs    []string        // of [libdefaults], key = value
	keys    map[string]bool
	cache   string // default_ccache_name
	realms  []string
	domains []string
}

// maxIncludes limits the number of files of a configuration.
const maxIncludes = 256

// read reads the lines of a file and of the files that it includes.
func (p *profile) read(path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err // names the path
	}
	if p.seen[path] {
		return nil // a file includes itself, or two files include it
	}
	if p.seen[path] = true; len(p.seen) > maxIncludes {
		return fmt.Errorf("kerberos configuration: more than %d files are included", maxIncludes)
	}
	section, depth := "", 0
	for n, line := range strings.Split(string(data), "\n") {
		line = strings.TrimSpace(line)
		at := func(format string, a ...any) error {
			return fmt.Errorf("kerberos configuration %s: line %d: %w", path, n+1, fmt.Errorf(format, a...))
		}
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		if depth == 0 {
			word, rest, _ := strings.Cut(strings.ReplaceAll(line, "\t", " "), " ")
			rest = strings.TrimSpace(rest)
			switch word {
			case "include":
				if err := p.read(rest); err != nil {
					return at("include: %w", err)
				}
				continue
			case "includedir":
				if err := p.readDir(rest); err != nil {
					return at("includedir: %w", err)
				}
				continue
			case "module":
				return at("profile modules are not supported")
			}
			if name, ok := strings.CutPrefix(line, "["); ok {
				name, _, closed := strings.Cut(name, "]")
				if !closed {
					return at("a section's name is not closed")
				}
				section = strings.ToLower(strings.TrimSpace(name))
				continue
			}
		}
		if section != "libdefaults" && section != "domain_realm" {
			line = needed(line)
		}
		if key, value, _ := strings.Cut(line, "="); strings.Contains(value, "=") && depends(section, key) {
			return at("a value of %s has the character =, which is not supported", strings.TrimSpace(key))
		}
		begins := depth
		depth += strings.Count(line, "{") - strings.Count(line, "}")
		if depth < 0 {
			return at("a brace is closed and was not opened")
		}
		switch section {
		case "libdefaults":
			if begins == 0 && depth == 0 {
				p.libdefault(line)
			}
		case "realms":
			if max(begins, depth) > 1 {
				continue // a section within a realm, which gokrb5 does not read
			}
			p.realms = append(p.realms, strings.Split(strings.NewReplacer("{", "{\n", "}", "\n}\n").Replace(line), "\n")...)
		case "domain_realm":
			p.domains = append(p.domains, line)
		}
	}
	if depth != 0 {
		return fmt.Errorf("kerberos configuration %s: a brace is opened and not closed", path)
	}
	return nil
}

// depends reports whether a login depends on the value of a key.
func depends(section, key string) bool {
	switch key = strings.ToLower(strings.TrimSpace(key)); section {
	case "libdefaults":
		return key == "default_realm"
	case "realms":
		return ofRealm(key)
	}
	return section == "domain_realm"
}

// ofRealm reports whether gokrb5 reads a key of a realm.
func ofRealm(key string) bool {
	switch strings.ToLower(strings.TrimSpace(key)) {
	case "kdc", "master_kdc", "admin_server", "kpasswd_server", "default_domain":
		return true
	}
	return false
}

// needed removes the parts of a line that no login depends on: values of other keys, such as the rules of auth_to_local and of certificates,
// may contain braces and other characters that are not syntax. It keeps only the closing braces that the value does not open.
func needed(line string) string {
	key, value, ok := strings.Cut(line, "=")
	if !ok || ofRealm(key) || strings.HasPrefix(strings.TrimSpace(value), "{") {
		return line
	}
	return strings.Repeat("}", max(strings.Count(value, "}")-strings.Count(value, "{"), 0))
}

// includable matches the file names that includedir reads.
var includable = regexp.MustCompile(`^([A-Za-z0-9_-]+|[^.].*\.conf)$`)

func (p *profile) readDir(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.IsDir() || !includable.MatchString(e.Name()) {
			continue
		}
		if err := p.read(filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// libdefault stores a line of [libdefaults] in the form that gokrb5 reads.
func (p *profile) libdefault(line string) {
	key, value, ok := strings.Cut(line, "=")
	if !ok {
		return // as in MIT's libraries, which ignore it
	}
	key, value = strings.ToLower(strings.TrimSpace(key)), strings.TrimSpace(value)
	if p.keys == nil {
		p.keys = map[string]bool{}
	}
	if p.keys[key] {
		return
	}
	p.keys[key] = true
	switch key {
	case "dns_canonicalize_hostname", "rdns": // service names are those of the cluster's configuration
		return
	case "default_tkt_enctypes", "default_tgs_enctypes", "permitted_enctypes":
		if value = enctypes(value); value == "" {
			return
		}
	case "dns_lookup_kdc", "dns_lookup_realm", "forwardable", "proxiable", "canonicalize", "allow_weak_crypto", "noaddresses":
		switch strings.ToLower(value) {
		case "on":
			value = "true"
		case "off", "nil":
			value = "false"
		}
	case "default_ccache_name":
		id := strconv.Itoa(os.Getuid())
		p.cache = strings.NewReplacer("%{uid}", id, "%{euid}", id, "%{USERID}", id, "%{TEMP}", "/tmp").Replace(value)
		return
	case "default_realm", "clockskew", "ticket_lifetime", "renew_lifetime", "udp_preference_limit", "kdc_timesync":
	default:
		return // no exchange depends on it
	}
	p.libs = append(p.libs, key+" = "+value)
}

// enctypes resolves the families and commas of MIT's syntax in a list of encryption types. It returns an empty list for the default.
func enctypes(value string) string {
	var names []string
	for _, word := range strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ' ' || r == '\t' }) {
		word = strings.ToLower(word)
		not, without := strings.CutPrefix(word, "-")
		if without {
			names = slices.DeleteFunc(names, func(n string) bool {
				return slices.ContainsFunc(family(not), func(f string) bool { return etypeID.ETypesByName[f] == etypeID.ETypesByName[n] })
			})
			continue
		}
		names = append(names, family(strings.TrimPrefix(word, "+"))...)
	}
	return strings.Join(names, " ")
}

// family returns the encryption types of a family's name, or the name itself.
func family(word string) []string {
	switch word {
	case "default":
		return defaultEnctypes
	case "aes":
		return defaultEnctypes[:4]
	case "rc4":
		return defaultEnctypes[4:]
	}
	return []string{word}
}

// defaultEnctypes lists the default encryption types of MIT Kerberos 1.20 that gokrb5 implements.
var defaultEnctypes = []string{"aes256-cts-hmac-sha1-96", "aes128-cts-hmac-sha1-96", "aes256-cts-hmac-sha384-192", "aes128-cts-hmac-sha256-128", "arcfour-hmac"}

// text returns the configuration in gokrb5's form: each section once.
func (p *profile) text() (string, error) {
	for _, line := range p.realms {
		if key, value, ok := strings.Cut(line, "="); ok && strings.TrimSpace(key) == "kdc" && strings.Contains(value, "://") {
			return "", errors.New("a KDC behind an HTTPS proxy is not supported: name one that is reached directly (kdc = HOST)")
		}
	}
	for _, key := range []string{"default_tkt_enctypes", "default_tgs_enctypes", "permitted_enctypes"} {
		if !p.keys[key] {
			p.libs = append(p.libs, key+" = "+strings.Join(defaultEnctypes, " "))
		}
	}
	if !p.keys["dns_lookup_kdc"] {
		p.libs = append(p.libs, "dns_lookup_kdc = true") // for realms without a KDC in the file, as in MIT's libraries and Java
	}
	var b strings.Builder
	for _, section := range []struct {
		name  string
		lines []string
	}{{"libdefaults", p.libs}, {"realms", p.realms}, {"domain_realm", p.domains}} {
		fmt.Fprintf(&b, "[%s]\n%s\n", section.name, strings.Join(section.lines, "\n"))
	}
	return b.String(), nil
}
