package objectstore

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"

	"bulkload/pkg/setting"
)

// Stores holds the buckets that a process reads. The zero value uses the providers' own addresses. Safe for concurrent use.
type Stores struct {
	Endpoints []string            // see [ParseEndpoints]
	Conf      func(string) string // returns a value of Hadoop's configuration, such as fs.s3a.endpoint; nil: none
	Log       *slog.Logger        // nil: none

	mu      sync.Mutex
	open    map[string]*Store  // by root
	shipped map[string]shipped // by root, see [Stores.Take]
}

// Open returns the bucket of a name, and the name within it. It makes no request to the bucket.
func (s *Stores) Open(name string) (*Store, string, error) {
	p, err := Parse(name)
	if err != nil {
		return nil, "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if one := s.open[p.Root()]; one != nil {
		return one, p.Path, nil
	}
	one, err := s.store(p)
	if err != nil {
		return nil, "", err
	}
	if s.open == nil {
		s.open = make(map[string]*Store)
	}
	s.open[p.Root()] = one
	return one, p.Path, nil
}

// store returns a new Store for the bucket of a place.
func (s *Stores) store(p Place) (*Store, error) {
	all, err := ParseEndpoints(s.Endpoints)
	if err != nil {
		return nil, err
	}
	value := s.Conf
	if value == nil {
		value = func(string) string { return "" }
	}
	e := all[p.kind]
	one := &Store{root: p.Root(), transport: newTransport(), patience: usualPatience(), log: s.Log}
	one.log = cmp.Or(one.log, slog.New(slog.DiscardHandler))
	given, ok := s.shipped[p.Root()]
	switch {
	case ok:
		one.protocol, err = given.protocol()
	case p.kind == kindGCS:
		one.protocol, err = newGCS(p, e)
	case p.kind == kindAzure:
		one.protocol, err = newAzure(p, e)
	default:
		one.protocol, err = newS3(p, e, value)
	}
	if err != nil {
		return nil, err
	}
	if e.open() {
		one.log.Warn("what is read from this object store can be read on its way: its endpoint is http, not https", "bucket", one.root, "host", e.url.Host)
	}
	one.ctx, one.cancel = context.WithCancel(context.Background())
	return one, nil
}

// newS3 returns S3's protocol at an endpoint. The variables of AWS's tools and Hadoop's configuration supply what the setting lacks, for kindS3.
func newS3(p Place, e endpoint, value func(string) string) (*s3, error) {
	out := &s3{keys: &s3Keys{asked: true}}
	if p.kind == kindS3 {
		text := cmp.Or(os.Getenv("AWS_ENDPOINT_URL_S3"), os.Getenv("AWS_ENDPOINT_URL"), value("fs.s3a.endpoint"))
		if e.url == nil && text != "" {
			if !strings.Contains(text, "://") {
				text = "https://" + text
			}
			given, err := parseEndpoint(text)
			if err != nil {
				return nil, err
			}
			if e.url = given.url; strings.EqualFold(value("fs.s3a.path.style.access"), "true") {
				e.style = cmp.Or(e.style, "path")
			}
		}
		e.region = cmp.Or(e.region, os.Getenv("AWS_REGION"), os.Getenv("AWS_DEFAULT_REGION"), value("fs.s3a.endpoint.region"))
		if e.url == nil {
			out.home = true
			e.url = awsEndpoint(e.region)
		}
	}
	if e.url == nil {
		return nil, setting.Errorf("%s has no address of its own: give the region's with %s, as %s=https://HOST", p.Root(), setting.Endpoint, p.kind)
	}
	if !e.anonymous {
		out.keys = newS3Keys(p.kind, value)
	}
	out.region, out.base = cmp.Or(e.region, regionOf(e.url.Hostname())), e.base(p.Bucket)
	return out, nil
}

func newGCS(p Place, e endpoint) (*gcs, error) {
	g := &gcs{bucket: p.Bucket, base: e.url, open: e.anonymous, client: &http.Client{Timeout: keysTime}}
	if emulator := os.Getenv("STORAGE_EMULATOR_HOST"); g.base == nil && emulator != "" {
		if !strings.Contains(emulator, "://") {
			emulator = "http://" + emulator
		}
		given, err := parseEndpoint(emulator)
		if err != nil {
			return nil, err
		}
		g.base, g.open = given.url, true
	}
	if g.base == nil {
		g.base = &url.URL{Scheme: "https", Host: "storage.googleapis.com"}
	}
	return g, nil
}

func newAzure(p Place, e endpoint) (*azure, error) {
	a := &azure{keys: &azureKeys{source: "none"}}
	base, account := e.url, strings.ToLower(p.Account) // Azure's names are in lower case, those of inputs may not be
	if !e.anonymous {
		name, _, _ := strings.Cut(account, ".")
		connection, address, err := azureConnection(name)
		if err != nil {
			return nil, err
		}
		if a.keys, err = newAzureKeys(name, connection); err != nil {
			return nil, err
		}
		if base == nil {
			base = address
		}
	}
	if base == nil {
		host := strings.Replace(account, ".dfs.", ".blob.", 1)
		if !strings.Contains(host, ".") {
			host += ".blob.core.windows.net"
		}
		base = &url.URL{Scheme: "https", Host: host}
	}
	u := *base
	u.Path += "/" + p.Bucket
	a.base = &u
	return a, nil
}

// Rest closes idle connections.
func (s *Stores) Rest() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.open {
		one.Rest()
	}
}

// Close cancels running requests and closes all buckets.
func (s *Stores) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.open {
		one.Close()
	}
	s.open = nil
}
