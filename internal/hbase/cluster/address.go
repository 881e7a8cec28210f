package cluster

import (
	"context"
	"net"
	"slices"
	"strings"

	"bulkload/pkg/hdfsio"
)

// authority returns the authority of a location on HDFS in one spelling, and whether it is a nameservice.
func authority(l hdfsio.Location) (name string, nameservice bool) {
	const port = ":8020"
	if len(l.Addresses) == 1 && strings.TrimSuffix(l.Addresses[0], port) == strings.TrimSuffix(l.Authority, port) {
		return strings.ToLower(l.Addresses[0]), false // include the port
	}
	return l.Authority, true
}

// SameAddress reports whether two locations name their HDFS alike: by one nameservice, or by one host and port.
func SameAddress(a, b hdfsio.Location) bool {
	one, _ := authority(a)
	other, _ := authority(b)
	return one == other
}

// ByServer reports whether a location names by the address of a server an HDFS that root, a location on it, names by its nameservice.
func ByServer(ctx context.Context, l, root hdfsio.Location) bool {
	_, named := authority(l)
	_, rootNamed := authority(root)
	return !named && rootNamed && SameHDFS(ctx, l, root)
}

// SameHDFS reports whether two locations are on the same HDFS, as far as their addresses show: one common server suffices, as for HBase
// (FSUtils.isSameHdfs, 2.6).
func SameHDFS(ctx context.Context, a, b hdfsio.Location) bool {
	if SameAddress(a, b) {
		return true
	}
	have := addresses(ctx, a)
	return slices.ContainsFunc(addresses(ctx, b), func(address string) bool { return slices.Contains(have, address) })
}

// addresses returns the servers of a location by their names and IP addresses, with ports.
func addresses(ctx context.Context, l hdfsio.Location) (all []string) {
	for _, address := range l.Addresses {
		all = append(all, strings.ToLower(address))
		host, port, err := net.SplitHostPort(address)
		if err != nil {
			continue
		}
		hosts, err := net.DefaultResolver.LookupHost(ctx, host)
		if err != nil {
			continue
		}
		for _, h := range hosts {
			all = append(all, net.JoinHostPort(h, port))
		}
	}
	return all
}
