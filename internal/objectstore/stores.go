package objectstore

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
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

// endpoint is the address of the buckets of a kind. The zero value is the provider's own.
type endpoint struct {
	url       *url.URL
	region    string
	style     string // path or virtual: the bucket's name is in the path or in the host; empty: the host determines it
	anonymous bool   // requests have no credentials
}

// ParseEndpoints parses settings such as s3=https://host:port?region=eu-1&style=path&credentials=none, and returns them by kind. A setting that has
// credentials is an error, which does not show them.
func ParseEndpoints(list []string) (map[kind]endpoint, error) {
	all := make(map[kind]endpoint, len(list))
	for _, text := range list {
		scheme, address, _ := strings.Cut(text, "=")
		k := kinds[strings.ToLower(scheme)]
		if _, twice := all[k]; k == "" || twice {
			return nil, fmt.Errorf("endpoint %q: want SCHEME=URL, once for each of s3, gs, abfs, oss and obs", setting.Shorten(scheme, 20))
		}
		e, err := parseEndpoint(address)
		if err != nil {
			return nil, fmt.Errorf("endpoint %s=…: %w", scheme, err)
		}
		all[k] = e
	}
	return all, nil
}

func parseEndpoint(address string) (e endpoint, err error) {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return e, fmt.Errorf("want a URL such as https://host:port")
	case u.User != nil || u.Fragment != "":
		return e, fmt.Errorf("credentials do not belong into an endpoint: they come from the environment")
	}
	for name, values := range u.Query() {
		value := values[0]
		switch {
		case name == "region" && value != "":
			e.region = value
		case name == "style" && (value == "path" || value == "virtual"):
			e.style = value
		case name == "credentials" && value == "none":
			e.anonymous = true
		default:
			return e, fmt.Errorf("%q is not known: want region=NAME, style=path, style=virtual or credentials=none", setting.Shorten(name, 20))
		}
	}
	e.url = &url.URL{Scheme: u.Scheme, Host: u.Host, Path: strings.TrimRight(u.Path, "/")}
	return e, nil
}

// open reports whether others can read the traffic on the network: it is unencrypted, and the host is not a loopback address.
func (e endpoint) open() bool {
	if e.url == nil || e.url.Scheme != "http" {
		return false
	}
	host := e.url.Hostname()
	ip := net.ParseIP(host)
	return host != "localhost" && (ip == nil || !ip.IsLoopback())
}

// regionOf returns the region in a host name, empty if it has none, such as s3.eu-west-1.amazonaws.com, oss-cn-hangzhou.aliyuncs.com or
// obs.cn-north-4.myhuaweicloud.com.
func regionOf(host string) string {
	labels := strings.Split(host, ".")
	provider := strings.HasSuffix(host, ".amazonaws.com") || strings.HasSuffix(host, ".amazonaws.com.cn") || strings.HasSuffix(host, ".myhuaweicloud.com")
	for i, label := range labels {
		if region, ok := strings.CutPrefix(label, "oss-"); ok {
			return strings.TrimSuffix(region, "-internal")
		}
		if provider && (label == "s3" || label == "obs") && i+1 < len(labels) && strings.Contains(labels[i+1], "-") {
			return labels[i+1]
		}
	}
	return ""
}

// virtual reports whether the bucket's name is a part of the host name.
func (e endpoint) virtual(bucket string) bool {
	if e.style != "" {
		return e.style == "virtual"
	}
	hosted := slices.ContainsFunc([]string{".amazonaws.com", ".amazonaws.com.cn", ".aliyuncs.com", ".myhuaweicloud.com"}, func(end string) bool {
		return strings.HasSuffix(e.url.Hostname(), end)
	})
	return hosted && !(e.url.Scheme == "https" && strings.Contains(bucket, ".")) // wildcard certificates do not match such names
}

// base returns the address of a bucket of S3's protocol, without a trailing slash.
func (e endpoint) base(bucket string) *url.URL {
	u := *e.url
	if e.virtual(bucket) {
		u.Host = bucket + "." + u.Host
	} else {
		u.Path += "/" + bucket
	}
	return &u
}

// awsEndpoint returns Amazon's address of a region; an empty one is us-east-1.
func awsEndpoint(region string) *url.URL {
	domain := "amazonaws.com"
	if strings.HasPrefix(region, "cn-") {
		domain = "amazonaws.com.cn"
	}
	return &url.URL{Scheme: "https", Host: "s3." + cmp.Or(region, "us-east-1") + "." + domain}
}
