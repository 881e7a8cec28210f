package objectstore

import (
	"cmp"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"

	"bulkload/pkg/setting"
)

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
