package kerberos

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jcmturner/gokrb5/v8/client"
	"github.com/jcmturner/gokrb5/v8/credentials"
	"github.com/jcmturner/gokrb5/v8/keytab"
	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/types"
)

// Options say who logs in, and by what.
type Options struct {
	// Config is krb5.conf. Required.
	Config *Config
	// Principal is who logs in, user@REALM or user for the default realm. Required with Keytab; with a ticket cache it is
	// compared with that of the cache.
	Principal string
	// Keytab is the path of a keytab. Empty: the ticket cache is used.
	Keytab string
	// Cache is the name of a ticket cache, a path or FILE:path. Default: KRB5CCNAME, or else /tmp/krb5cc_UID.
	Cache string
}

// Client is a user who is logged in. It is safe for concurrent use.
type Client struct {
	o         Options
	principal string

	mu    sync.Mutex // one exchange at a time: the client of gokrb5 changes its settings in one
	krb   *client.Client
	cache cacheFile
}

// Login logs in: by a keytab at the KDC, by a ticket cache without any exchange.
func Login(o Options) (*Client, error) {
	if o.Config == nil {
		return nil, errors.New("kerberos: no configuration")
	}
	c := &Client{o: o}
	var err error
	if o.Keytab != "" {
		err = c.loginKeytab()
	} else {
		err = c.loginCache()
	}
	if err != nil {
		return nil, err
	}
	return c, nil
}

// Principal is who is logged in, user@REALM.
func (c *Client) Principal() string { return c.principal }

// Close ends the renewal of tickets.
func (c *Client) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.krb != nil {
		c.krb.Destroy()
		c.krb = nil
	}
}

// loginKeytab makes a new login. Callers hold mu, or have the client alone.
func (c *Client) loginKeytab() error {
	user, realm, err := ParsePrincipal(c.o.Principal, c.o.Config.Realm())
	if err != nil {
		return err
	}
	kt, err := loadKeytab(c.o.Keytab)
	if err != nil {
		return err
	}
	name := user + "@" + realm
	conf := *c.o.Config.krb5
	var all, own []int32
	for _, e := range kt.Entries {
		all = append(all, e.Key.KeyType)
		if strings.Join(e.Principal.Components, "/") == user && e.Principal.Realm == realm {
			own = append(own, e.Key.KeyType)
		}
	}
	if len(own) == 0 {
		return fmt.Errorf("keytab %s has no key of %s (%d keys of others): name another principal, or have the keytab written anew", c.o.Keytab, name, len(all))
	}
	// A KDC that has keys of more types than the keytab answers with the first that is asked for.
	conf.LibDefaults.DefaultTktEnctypeIDs = slices.DeleteFunc(slices.Clone(conf.LibDefaults.DefaultTktEnctypeIDs), func(id int32) bool { return !slices.Contains(own, id) })
	if len(conf.LibDefaults.DefaultTktEnctypeIDs) == 0 {
		return fmt.Errorf("keytab %s has keys of %s of other encryption types than %s allows: have the keytab written anew", c.o.Keytab, name, c.o.Config.Path)
	}
	krb := client.NewWithKeytab(user, realm, kt, &conf, client.DisablePAFXFAST(true))
	if err := krb.Login(); err != nil {
		krb.Destroy()
		return loginError(name, c.o, err)
	}
	if c.krb != nil {
		c.krb.Destroy()
	}
	c.krb, c.principal = krb, name
	return nil
}

func loadKeytab(path string) (kt *keytab.Keytab, err error) {
	defer func() {
		if recover() != nil { // of gokrb5, whose parser trusts lengths
			kt, err = nil, fmt.Errorf("keytab %s is damaged", path)
		}
	}()
	if _, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("keytab: %w", err)
	}
	kt, err = keytab.Load(path)
	if err != nil {
		return nil, fmt.Errorf("keytab %s: %w", path, err)
	}
	return kt, nil
}

// cacheFile says which state of a ticket cache was read.
type cacheFile struct {
	path string
	time time.Time
	size int64
}

// cachePath is the file of a cache's name.
func cachePath(name string) (string, error) {
	name = cmp.Or(name, os.Getenv("KRB5CCNAME"), fmt.Sprintf("/tmp/krb5cc_%d", os.Getuid()))
	kind, rest, ok := strings.Cut(name, ":")
	switch {
	case !ok || strings.HasPrefix(name, "/"):
		return name, nil
	case strings.EqualFold(kind, "FILE") || strings.EqualFold(kind, "WRFILE"):
		return rest, nil
	}
	return "", fmt.Errorf("ticket cache of type %s: only FILE is supported: run kinit -c FILE:PATH and set KRB5CCNAME=FILE:PATH, or use a keytab", kind)
}

// loginCache reads the ticket cache. Callers hold mu, or have the client alone.
func (c *Client) loginCache() error {
	path, err := cachePath(c.o.Cache)
	if err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("ticket cache: %w (run kinit, or use a keytab)", err)
	}
	krb, end, err := openCache(path, c.o.Config)
	if err != nil {
		return fmt.Errorf("ticket cache %s: %w", path, err)
	}
	name := krb.Credentials.UserName() + "@" + krb.Credentials.Realm()
	if c.o.Principal != "" {
		user, realm, err := ParsePrincipal(c.o.Principal, krb.Credentials.Realm())
		if err != nil {
			return err
		}
		if user+"@"+realm != name {
			return fmt.Errorf("ticket cache %s is of %s, not of %s: run kinit %[3]s, or use a keytab", path, name, user+"@"+realm)
		}
	}
	if !time.Now().Before(end) {
		return fmt.Errorf("ticket cache %s: the ticket of %s has expired at %s: run kinit, or use a keytab", path, name, end.UTC().Format(time.RFC3339))
	}
	if c.krb != nil {
		c.krb.Destroy()
	}
	c.krb, c.principal, c.cache = krb, name, cacheFile{path, info.ModTime(), info.Size()}
	return nil
}

// openCache makes a client of a cache's tickets, and says when its ticket-granting ticket ends.
func openCache(path string, conf *Config) (krb *client.Client, end time.Time, err error) {
	defer func() {
		if recover() != nil { // of gokrb5, whose parser trusts lengths
			krb, err = nil, errors.New("it is damaged: run kinit again")
		}
	}()
	cache, err := credentials.LoadCCache(path)
	if err != nil {
		return nil, end, err
	}
	realm := cache.GetClientRealm()
	tgt, ok := cache.GetEntry(types.PrincipalName{NameType: 2, NameString: []string{"krbtgt", realm}})
	if !ok {
		return nil, end, errors.New("it has no ticket-granting ticket: run kinit")
	}
	krb, err = client.NewFromCCache(cache, conf.krb5, client.DisablePAFXFAST(true))
	return krb, tgt.EndTime, err
}

// again logs in a second time: a keytab always can; a ticket cache, if another program has written it since.
func (c *Client) again() error {
	if c.o.Keytab != "" {
		return c.loginKeytab()
	}
	info, err := os.Stat(c.cache.path)
	if err != nil {
		return fmt.Errorf("ticket cache: %w", err)
	}
	if info.ModTime().Equal(c.cache.time) && info.Size() == c.cache.size {
		return errSame
	}
	return c.loginCache()
}

var errSame = errors.New("the ticket cache was not renewed")

// Ticket is a ticket for a service, such as nn/host.example.com, of a realm; an empty realm is that of the host as the
// configuration maps it. The context bounds nothing but waiting for another exchange: gokrb5 has its own limits.
func (c *Client) Ticket(ctx context.Context, service, realm string) (messages.Ticket, types.EncryptionKey, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return messages.Ticket{}, types.EncryptionKey{}, context.Cause(ctx)
	}
	if c.krb == nil {
		return messages.Ticket{}, types.EncryptionKey{}, net.ErrClosed
	}
	ticket, key, err := c.ticket(service, realm)
	if err == nil {
		return ticket, key, nil
	}
	first := ticketError(service, c.o, err)
	if errors.Is(first, ErrUnknownService) {
		return ticket, key, first
	}
	if err := c.again(); err != nil {
		if err == errSame {
			return ticket, key, first
		}
		return ticket, key, errors.Join(first, err)
	}
	if ticket, key, err = c.ticket(service, realm); err != nil {
		err = ticketError(service, c.o, err)
	}
	return ticket, key, err
}

func (c *Client) ticket(service, realm string) (messages.Ticket, types.EncryptionKey, error) {
	_, host, ok := strings.Cut(service, "/")
	if !ok || host == "" {
		return messages.Ticket{}, types.EncryptionKey{}, fmt.Errorf("%s names no host", service)
	}
	if realm != "" && c.krb.Config.ResolveRealm(host) != realm {
		// The realm that a service's principal names outranks the mapping of hosts.
		own := *c.krb.Config
		own.DomainRealm = map[string]string{host: realm}
		for k, v := range c.krb.Config.DomainRealm {
			if k != host {
				own.DomainRealm[k] = v
			}
		}
		c.krb.Config = &own
	}
	return c.krb.GetServiceTicket(service)
}

// ParsePrincipal takes a principal apart. realm is that of one that names none.
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
