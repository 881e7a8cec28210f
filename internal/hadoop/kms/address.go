package kms

import (
	"fmt"
	"net"
	"net/url"
	"strings"
)

// scheme begins the address of a KMS in Hadoop's configuration.
const scheme = "kms://"

// ParseAddress reads the address of a key provider, such as kms://https@host1;host2:9600/kms, and gives the servers' URLs: what
// dfs.encryption.key.provider.uri, hadoop.security.key.provider.path and a NameNode's defaults have (KMSClientProvider.Factory,
// Hadoop 3.4). Of several providers, with commas between them, it takes the first that is a KMS.
func ParseAddress(address string) (servers []string, err error) {
	for provider := range strings.SplitSeq(address, ",") {
		rest, ok := strings.CutPrefix(strings.TrimSpace(provider), scheme)
		if !ok {
			continue
		}
		protocol, rest, ok := strings.Cut(rest, "@")
		if !ok || protocol != "http" && protocol != "https" {
			return nil, fmt.Errorf("the key provider %q has neither http@ nor https@", provider)
		}
		hosts, path, _ := strings.Cut(rest, "/")
		port := ""
		if i := strings.LastIndexByte(hosts, ':'); i >= 0 {
			hosts, port = hosts[:i], hosts[i+1:]
		}
		for host := range strings.SplitSeq(hosts, ";") {
			if host == "" {
				return nil, fmt.Errorf("the key provider %q names an empty host", provider)
			}
			if port != "" {
				host = net.JoinHostPort(strings.Trim(host, "[]"), port)
			}
			u := url.URL{Scheme: protocol, Host: host, Path: "/" + strings.Trim(path, "/")}
			servers = append(servers, strings.TrimSuffix(u.String(), "/"))
		}
		return servers, nil
	}
	return nil, fmt.Errorf("the key provider %q is not a KMS (kms://http@host:port/kms)", address)
}
