package kms

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"strings"

	"bulkload/pkg/kerberos"
)

// scheme is the prefix of a KMS address in Hadoop's configuration.
const scheme = "kms://"

// ParseAddress parses the address of a key provider, such as kms://https@host1;host2:9600/kms, and returns the servers' URLs.
// dfs.encryption.key.provider.uri, hadoop.security.key.provider.path and a NameNode's defaults have this form
// (KMSClientProvider.Factory, Hadoop 3.4). From a comma-separated list of providers it takes the first that is a KMS.
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

// TokenFor returns a container's token for a KMS from tokens of kind [TokenKind], nil if there are no tokens: the token whose service is
// the address, or one of its servers as host:port, by name or by IP address, as older clients write it (KMSClientProvider, Hadoop 3.4);
// otherwise the only token.
func TokenFor(ctx context.Context, address string, tokens []*kerberos.Token) (*kerberos.Token, error) {
	servers, err := ParseAddress(address)
	if err != nil || len(tokens) == 0 {
		return nil, err
	}
	names := map[string]bool{}
	for provider := range strings.SplitSeq(address, ",") {
		names[strings.TrimSuffix(strings.TrimSpace(provider), "/")] = true
	}
	for _, server := range servers {
		u, err := url.Parse(server)
		if err != nil {
			return nil, err
		}
		names[u.Host] = true
		numbers, _ := net.DefaultResolver.LookupHost(ctx, u.Hostname()) // an unknown name matches no service
		for _, number := range numbers {
			names[net.JoinHostPort(number, u.Port())] = true
		}
	}
	for _, t := range tokens {
		if names[strings.TrimSuffix(t.Service, "/")] {
			return t, nil
		}
	}
	if len(tokens) == 1 {
		return tokens[0], nil
	}
	return nil, fmt.Errorf("%w: none of %d tokens is for %s", ErrLogin, len(tokens), address)
}
