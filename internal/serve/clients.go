package serve

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"bulkload/internal/formats/yamlfile"
	"bulkload/internal/serve/console"
	"bulkload/internal/serve/rowjson"
	"bulkload/pkg/keygen"

	"github.com/goccy/go-yaml"
)

// Limits of a clients file.
const (
	maxClients     = 1000
	maxClientsFile = 4 << 20
)

type clientEntry struct {
	Name         string              `yaml:"name"`
	Tokens       []string            `yaml:"token_sha256"` // hexadecimal
	Certificates []string            `yaml:"certificates"` // common names, DNS names or URIs of its certificates
	Principals   []string            `yaml:"principals"`   // Kerberos principals, user@REALM
	Jobs         []string            `yaml:"jobs"`         // "*" for all
	Columns      map[string][]string `yaml:"columns"`      // by job; none: all
	Tables       []string            `yaml:"tables"`       // tables whose jobs the console shows to the client; "*" for all
	Control      []console.Action    `yaml:"control"`      // allowed actions on those jobs; "*" for all
	InFlight     int                 `yaml:"in_flight"`
}

type client struct {
	name     string
	inFlight int              // concurrent requests, 0 for the default of the limits
	jobs     *resources       // jobs that it may read
	tables   []string         // tables whose jobs the console shows to it
	control  []console.Action // what it may do about those jobs
}

// access has the clients of one load of the files, and their rights. If it is nil, all clients may read everything.
type access struct {
	byToken       map[[sha256.Size]byte]*client
	byCertificate map[string]*client
	byPrincipal   map[string]*client
}

// loadAccess reads a clients file for the job files that were loaded with it. tickets means that Kerberos tickets are accepted.
// ofConsole means that the clients are those of a console, which has jobs of tables instead of job files. One file may serve both.
// The error lists everything that is wrong.
func loadAccess(path string, rs *resources, tickets, ofConsole bool) (*access, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read the clients: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxClientsFile+1))
	if err == nil && len(data) > maxClientsFile {
		err = fmt.Errorf("it is larger than %d bytes", maxClientsFile)
	}
	if err != nil {
		return nil, fmt.Errorf("clients file %s: %w", path, err)
	}
	var file struct {
		Clients []clientEntry `yaml:"clients"`
	}
	if err := yamlfile.Decode(data, &file); err != nil { // the text of YAML's error quotes lines of the file, and so tokens
		return nil, fmt.Errorf("clients file %s: %s", path, yaml.FormatError(err, false, false))
	}
	if len(file.Clients) == 0 || len(file.Clients) > maxClients {
		return nil, fmt.Errorf("clients file %s: it has %d clients, want 1 to %d", path, len(file.Clients), maxClients)
	}
	a := &access{byToken: map[[sha256.Size]byte]*client{}, byCertificate: map[string]*client{}, byPrincipal: map[string]*client{}}
	names := map[string]bool{}
	var errs []error
	for i, e := range file.Clients {
		if !isJobName(e.Name) || names[e.Name] {
			errs = append(errs, fmt.Errorf("clients[%d]: name %q is invalid or used twice: letters, digits, - and _ of ASCII, at most 64", i, e.Name))
			continue
		}
		names[e.Name] = true
		if err := a.add(e, rs, ofConsole); err != nil {
			errs = append(errs, fmt.Errorf("client %s: %w", e.Name, err))
		}
		if len(e.Principals) > 0 && !tickets {
			errs = append(errs, fmt.Errorf("client %s: principals: this service has no keytab of HTTP/HOST, so that no ticket would be taken", e.Name))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("clients file %s: %w", path, err)
	}
	return a, nil
}

func (a *access) add(e clientEntry, rs *resources, ofConsole bool) error {
	c := &client{name: e.Name, inFlight: e.InFlight, tables: e.Tables, control: e.Control, jobs: &resources{}}
	var errs []error
	if c.inFlight < 0 {
		errs = append(errs, fmt.Errorf("in_flight: %d is below 0", c.inFlight))
	}
	for _, action := range e.Control {
		if action != "*" && !slices.Contains(console.Actions(), action) {
			errs = append(errs, fmt.Errorf("control: unknown action %q: want pause, resume, stop, start, clean or \"*\"", action))
		}
	}
	if !ofConsole && (len(e.Jobs) > 0 || len(e.Tables) == 0) {
		var err error
		if c.jobs, err = e.grant(rs); err != nil {
			errs = append(errs, err)
		}
	}
	if len(e.Tokens)+len(e.Certificates)+len(e.Principals) == 0 {
		errs = append(errs, errors.New("it has neither token_sha256 nor certificates nor principals"))
	}
	for _, text := range e.Tokens {
		b, err := hex.DecodeString(text)
		if err != nil || len(b) != sha256.Size {
			errs = append(errs, errors.New("token_sha256: an entry is not the 64 hexadecimal digits of a SHA-256"))
			continue
		}
		digest := [sha256.Size]byte(b)
		if digest == sha256.Sum256(nil) || a.byToken[digest] != nil {
			errs = append(errs, errors.New("token_sha256: an entry is that of an empty token, or stands twice in the file"))
			continue
		}
		a.byToken[digest] = c
	}
	for _, name := range e.Certificates {
		if name == "" || a.byCertificate[name] != nil {
			errs = append(errs, fmt.Errorf("certificates: %q is empty, or stands twice in the file", name))
			continue
		}
		a.byCertificate[name] = c
	}
	for _, name := range e.Principals {
		if user, realm, ok := strings.Cut(name, "@"); !ok || user == "" || realm == "" || a.byPrincipal[name] != nil {
			errs = append(errs, fmt.Errorf("principals: %q is not USER@REALM, or stands twice in the file", name))
			continue
		}
		a.byPrincipal[name] = c
	}
	return errors.Join(errs...)
}

// grant returns the jobs that a client may read.
func (e clientEntry) grant(rs *resources) (*resources, error) {
	granted := &resources{byName: map[string]*resource{}}
	if len(e.Jobs) == 0 {
		return nil, errors.New(`jobs: it has none; "*" are all`)
	}
	var errs []error
	for _, r := range rs.list {
		if !slices.Contains(e.Jobs, "*") && !slices.Contains(e.Jobs, r.name) {
			continue
		}
		if columns, ok := e.Columns[r.name]; ok {
			var err error
			if r, err = r.only(columns); err != nil {
				errs = append(errs, err)
				continue
			}
		}
		granted.list = append(granted.list, r)
		granted.byName[r.name] = r
	}
	for _, name := range e.Jobs {
		if name != "*" && rs.byName[name] == nil {
			errs = append(errs, fmt.Errorf("jobs: there is no job file %q", name))
		}
	}
	for name := range e.Columns {
		if granted.byName[name] == nil {
			errs = append(errs, fmt.Errorf("columns: %q is not a job of this client, or its columns are wrong", name))
		}
	}
	return granted, errors.Join(errs...)
}

// only returns the resource with some of its columns. They must include the columns of the key, since page tokens and
// the search page contain row keys, and so the values of those columns; and the columns of a query key, whose values the
// client could find by trying.
func (r *resource) only(columns []string) (*resource, error) {
	if len(columns) == 0 {
		return nil, fmt.Errorf("columns of %s: the list is empty", r.name)
	}
	some := *r
	var err error
	if some.shape, err = r.shapeOf(columns); err != nil {
		if p := asProblem(err); p != nil {
			err = fmt.Errorf("%q: %s", p.Parameter, p.Detail)
		}
		return nil, fmt.Errorf("columns of %s: %w", r.name, err)
	}
	some.granted, some.all = columns, r.shape
	for _, c := range keygen.Columns(r.job.RowKey()) {
		if names := r.namesOf(c); len(names) > 0 && !some.has(names) {
			return nil, fmt.Errorf("columns of %s: %s is a part of the row key, which page tokens have, and must be among them", r.name, names[0])
		}
	}
	for _, c := range r.columns {
		if names := r.namesOf(c); len(names) > 0 && !some.has(names) {
			return nil, fmt.Errorf("columns of %s: %s is a column of the query key, by which rows are compared, and must be among them", r.name, names[0])
		}
	}
	return &some, nil
}

// namesOf returns the columns of rows that have the values of a column of the input, by which a client may see them. A column without a cell of
// its own may be shown by a computed one of its name.
func (r *resource) namesOf(column string) []string {
	var names []string
	for _, c := range r.job.CellNames(column) {
		names = append(names, rowjson.Name(r.job.Family, c.Family, c.Qualifier))
	}
	if len(names) == 0 && r.shape.Has(column) {
		names = append(names, column)
	}
	return names
}

// has reports whether rows have one of these columns.
func (r *resource) has(names []string) bool { return slices.ContainsFunc(names, r.shape.Has) }

// certified returns the client that the connection's certificate identifies, or nil.
func (a *access) certified(r *http.Request) *client {
	if r.TLS != nil && len(r.TLS.VerifiedChains) > 0 && time.Now().Before(r.TLS.VerifiedChains[0][0].NotAfter) { // a connection may outlive its certificate
		for _, name := range certificateNames(r.TLS.VerifiedChains[0][0]) {
			if c := a.byCertificate[name]; c != nil {
				return c
			}
		}
	}
	return nil
}

// named returns the client that a token identifies, or nil.
func (a *access) named(r *http.Request) *client {
	token, basic := "", ""
	if scheme, rest, ok := strings.Cut(r.Header.Get("Authorization"), " "); ok && strings.EqualFold(scheme, "Bearer") {
		token = strings.TrimSpace(rest)
	} else if basic, token, ok = r.BasicAuth(); !ok { // from browsers: the client's name, and the token as the password
		return nil
	}
	// The lookup is by digests of tokens, so that its duration reveals nothing about a token.
	c := a.byToken[sha256.Sum256([]byte(token))]
	if c == nil || token == "" || basic != "" && basic != c.name {
		return nil
	}
	return c
}

func certificateNames(c *x509.Certificate) []string {
	names := slices.Clone(c.DNSNames)
	for _, u := range c.URIs {
		names = append(names, u.String())
	}
	if len(names) == 0 { // a common name counts only if the certificate has no other name
		names = append(names, c.Subject.CommonName)
	}
	return names
}
