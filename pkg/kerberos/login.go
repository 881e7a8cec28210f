package kerberos

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/jcmturner/gokrb5/v8/client"
	"github.com/jcmturner/gokrb5/v8/credentials"
	"github.com/jcmturner/gokrb5/v8/keytab"
	"github.com/jcmturner/gokrb5/v8/messages"

	"bulkload/internal/base/workers"
)

// Options holds the principal of a login and its credentials.
type Options struct {
	// Config is the parsed krb5.conf. Required.
	Config *Config
	// Principal is the user, user@REALM or user for the default realm. Required with Keytab; with a ticket cache it must match that of the
	// cache.
	Principal string
	// Keytab is the path of a keytab. Empty: the ticket cache is used.
	Keytab string
	// Cache is the name of a ticket cache, a path or FILE:path. Default: KRB5CCNAME, or else /tmp/krb5cc_UID, or else the file of
	// default_ccache_name.
	Cache string
}

// Client is a logged-in user. It is safe for concurrent use.
type Client struct {
	options   Options
	principal string
	one       chan struct{} // full during an exchange with a KDC

	mu    sync.Mutex
	state *state // nil when the client is closed
	timer *time.Timer
}

// Login logs in: with a keytab at the KDC, with a ticket cache without any exchange. The context bounds the wait for KDCs, which may be 10 s for each
// that does not answer. Close the client after use.
func Login(ctx context.Context, o Options) (*Client, error) {
	if o.Config == nil {
		return nil, errors.New("kerberos: no configuration")
	}
	c, err := workers.Await(ctx, func() (*Client, error) {
		s, name, err := o.login()
		return &Client{options: o, principal: name, one: make(chan struct{}, 1), state: s}, err
	})
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.keep()
	return c, nil
}

// login also returns the principal that is logged in.
func (o Options) login() (*state, string, error) {
	if o.Keytab != "" {
		return o.loginKeytab()
	}
	return o.loginCache()
}

// Principal returns the principal that is logged in, user@REALM.
func (c *Client) Principal() string { return c.principal }

// Until returns the end of the login's ticket, and the end of the renewable lifetime of a ticket cache's ticket, zero if it is not
// renewable. A keytab logs in again before the end.
func (c *Client) Until() (end, renewable time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state == nil {
		return end, renewable
	}
	return c.state.tgt.end, c.state.tgt.till
}

// Close ends the renewal of tickets. It does not wait for an exchange that is under way.
func (c *Client) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timer != nil {
		c.timer.Stop()
	}
	s := c.state
	if c.state = nil; s == nil {
		return
	}
	go func() {
		_ = c.begin(context.Background())
		defer c.end()
		s.krb.Destroy()
	}()
}

func (o Options) loginKeytab() (*state, string, error) {
	user, realm, err := ParsePrincipal(o.Principal, o.Config.Realm())
	if err != nil {
		return nil, "", err
	}
	kt, err := loadKeytab(o.Keytab)
	if err != nil {
		return nil, "", err
	}
	name := user + "@" + realm
	conf := *o.Config.krb5
	var all, own []int32
	for _, e := range kt.Entries {
		all = append(all, e.Key.KeyType)
		if strings.Join(e.Principal.Components, "/") == user && e.Principal.Realm == realm {
			own = append(own, e.Key.KeyType)
		}
	}
	if len(own) == 0 {
		return nil, "", fmt.Errorf("keytab %s has no key of %s (%d keys of others): name another principal, or export the keytab again", o.Keytab, name, len(all))
	}
	// A KDC that has keys of several types uses the first type requested, so those of the keytab go first. The others stay: the types of
	// session keys are chosen from the same list.
	conf.LibDefaults.DefaultTktEnctypeIDs = slices.Clone(conf.LibDefaults.DefaultTktEnctypeIDs)
	rank := func(id int32) int { return map[bool]int{false: 1}[slices.Contains(own, id)] }
	slices.SortStableFunc(conf.LibDefaults.DefaultTktEnctypeIDs, func(a, b int32) int { return cmp.Compare(rank(a), rank(b)) })
	if !slices.ContainsFunc(conf.LibDefaults.DefaultTktEnctypeIDs, func(id int32) bool { return slices.Contains(own, id) }) {
		return nil, "", fmt.Errorf("keytab %s has keys of %s of other encryption types than %s allows: export the keytab again", o.Keytab, name, o.Config.Path)
	}
	krb := client.NewWithKeytab(user, realm, kt, &conf, client.DisablePAFXFAST(true))
	request, err := messages.NewASReqForTGT(realm, &conf, krb.Credentials.CName())
	if err != nil {
		return nil, "", loginError(name, o, err)
	}
	if life := conf.LibDefaults.RenewLifetime; life > 0 {
		request.ReqBody.RTime = request.ReqBody.Till.Add(life - conf.LibDefaults.TicketLifetime) // gokrb5 requests 48 h regardless of the configuration
	}
	tgt, err := requestFirst(krb, realm, request)
	if err != nil {
		return nil, "", loginError(name, o, err)
	}
	return &state{krb: krb, user: krb.Credentials.CName(), realm: realm, tgt: tgt, tickets: map[asked]*grant{}}, name, nil
}

func loadKeytab(path string) (kt *keytab.Keytab, err error) {
	data, err := os.ReadFile(path)
	damaged := fmt.Errorf("keytab %s: its %d bytes are no keytab, or damaged: export it again (klist -k shows its keys)", path, len(data))
	defer func() {
		if recover() != nil { // of gokrb5, whose parser trusts lengths
			kt, err = nil, damaged
		}
	}()
	if errors.Is(err, fs.ErrPermission) {
		return nil, fmt.Errorf("keytab: %w: the user who runs the job must be able to read it", err)
	}
	if err != nil {
		return nil, fmt.Errorf("keytab: %w", err)
	}
	kt = keytab.New()
	if err := kt.Unmarshal(data); err != nil {
		return nil, damaged // the parser's own error has the bytes of the file, keys included
	}
	// Of keys with equal times gokrb5 uses the first, which must be the newest. Keys made within a second, and those of ktpass, have equal
	// times.
	sort.SliceStable(kt.Entries, func(i, j int) bool { return kt.Entries[i].KVNO > kt.Entries[j].KVNO })
	return kt, nil
}

// cacheFile identifies the state of a ticket cache that was read.
type cacheFile struct {
	path string
	time time.Time
	size int64
}

// EnvCache is the environment variable with the ticket cache's name, as for MIT's programs.
const EnvCache = "KRB5CCNAME"

// DefaultCache returns the name of the default ticket cache: the value of EnvCache, or else a file of the user.
func DefaultCache() string {
	return cmp.Or(os.Getenv(EnvCache), fmt.Sprintf("/tmp/krb5cc_%d", os.Getuid()))
}

// OpenToOthers reports whether users beyond a file's owner and group can read it, which is wrong for a keytab, and returns its permissions.
func OpenToOthers(path string) (fs.FileMode, bool) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, false
	}
	return info.Mode().Perm(), info.Mode().Perm()&0o004 != 0
}

// cachePath returns the path of the file that a cache's name denotes.
func cachePath(name string) (string, error) {
	name = cmp.Or(name, DefaultCache())
	kind, rest, ok := strings.Cut(name, ":")
	switch {
	case !ok || strings.HasPrefix(name, "/"):
		return name, nil
	case strings.EqualFold(kind, "FILE") || strings.EqualFold(kind, "WRFILE"):
		return rest, nil
	}
	return "", fmt.Errorf("ticket cache of type %s: only FILE is supported: set KRB5CCNAME=FILE:PATH before kinit and this command, or use a keytab", kind)
}

func (o Options) loginCache() (*state, string, error) {
	path, err := cachePath(o.Cache)
	if err != nil {
		return nil, "", err
	}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) && cmp.Or(o.Cache, os.Getenv(EnvCache)) == "" && o.Config.cache != "" {
		if path, err = cachePath(o.Config.cache); err != nil { // kinit wrote it there
			return nil, "", fmt.Errorf("default_ccache_name of %s: %w", o.Config.Path, err)
		}
		info, err = os.Stat(path)
	}
	if err != nil {
		return nil, "", fmt.Errorf("ticket cache: %w (run kinit, or use a keytab)", err)
	}
	s, err := openCache(path, o.Config)
	if err != nil {
		return nil, "", fmt.Errorf("ticket cache %s: %w", path, err)
	}
	name := s.user.PrincipalNameString() + "@" + s.realm
	if o.Principal != "" {
		user, realm, err := ParsePrincipal(o.Principal, s.realm)
		if err != nil {
			return nil, "", err
		}
		if user+"@"+realm != name {
			return nil, "", fmt.Errorf("ticket cache %s is of %s, not of %s: run kinit %[3]s, or use a keytab", path, name, user+"@"+realm)
		}
	}
	if !s.tgt.valid(time.Now()) {
		return nil, "", fmt.Errorf("ticket cache %s: the ticket of %s has expired at %s: run kinit, or use a keytab", path, name, s.tgt.end.UTC().Format(time.RFC3339))
	}
	s.cache = cacheFile{path, info.ModTime(), info.Size()}
	return s, name, nil
}

// openCache creates a login from a cache's ticket-granting ticket.
func openCache(path string, conf *Config) (s *state, err error) {
	defer func() {
		if recover() != nil { // of gokrb5, whose parser trusts lengths
			s, err = nil, errors.New("it is damaged: run kinit again")
		}
	}()
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if err := checkCache(data); err != nil {
		return nil, err
	}
	cache := new(credentials.CCache)
	if err := cache.Unmarshal(data); err != nil {
		return nil, err
	}
	s = &state{user: cache.GetClientPrincipalName(), realm: cache.GetClientRealm(), tickets: map[asked]*grant{}}
	tgt, ok := cache.GetEntry(grantingTo(s.realm))
	if !ok {
		return nil, errors.New("it has no ticket-granting ticket: run kinit")
	}
	if s.krb, err = client.NewFromCCache(cache, conf.krb5, client.DisablePAFXFAST(true)); err != nil {
		return nil, err
	}
	s.tgt = &grant{key: tgt.Key, since: tgt.StartTime, end: tgt.EndTime, till: tgt.RenewTill}
	return s, s.tgt.ticket.Unmarshal(tgt.Ticket)
}

// ParsePrincipal parses a principal. realm is its realm if it does not name one.
func ParsePrincipal(name, realm string) (user, of string, err error) {
	user, of, ok := strings.Cut(name, "@")
	if !ok {
		of = realm
	}
	switch {
	case user == "" || strings.Contains(of, "@"):
		return "", "", fmt.Errorf("kerberos principal %q: it must be USER@REALM", name)
	case of == "":
		return "", "", fmt.Errorf("kerberos principal %s: it names no realm, and the configuration has no default_realm", name)
	}
	return user, of, nil
}
