package hdfsio

import (
	"context"
	"net"
	"sync"
	"time"
)

// favored resolves the servers near which files are written to addresses, by host. The NameNode gets addresses, as from Hadoop's own
// client, because it would resolve names under its lock. favored is safe for concurrent use.
type favored struct {
	lookup func(ctx context.Context, host string) ([]net.IP, error) // nil: the system's

	mu    sync.Mutex
	hosts map[string]string // addresses; empty if unknown
	off   bool              // lookups take too long
}

// slowLookup is the timeout of a lookup. After a timeout no further lookups are made: the placement of blocks is not worth a wait.
const slowLookup = 2 * time.Second

// address returns the address of a server host:port, or "" if its host is unknown. Each host is looked up once.
func (f *favored) address(ctx context.Context, server string) string {
	host, port, err := net.SplitHostPort(server)
	if err != nil {
		return ""
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	ip, known := f.hosts[host]
	if !known && !f.off {
		if ip = f.find(ctx, host); ctx.Err() != nil {
			return ""
		}
		if f.hosts == nil {
			f.hosts = map[string]string{}
		}
		f.hosts[host] = ip
	}
	if ip == "" {
		return ""
	}
	return net.JoinHostPort(ip, port)
}

// find looks up a host. Of several addresses it returns the first IPv4 address: the NameNode identifies DataNodes by it.
func (f *favored) find(ctx context.Context, host string) string {
	if net.ParseIP(host) != nil {
		return host
	}
	look := f.lookup
	if look == nil {
		look = func(ctx context.Context, host string) ([]net.IP, error) {
			return net.DefaultResolver.LookupIP(ctx, "ip4", host)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, slowLookup)
	defer cancel()
	list, err := look(ctx, host)
	f.off = ctx.Err() == context.DeadlineExceeded
	if err != nil || len(list) == 0 {
		return ""
	}
	return list[0].String()
}
