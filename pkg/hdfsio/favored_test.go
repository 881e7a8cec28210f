package hdfsio

import (
	"context"
	"errors"
	"net"
	"testing"
)

// TestFavored checks that each host is looked up once, and that a server of an unknown host is ignored.
func TestFavored(t *testing.T) {
	asked := map[string]int{}
	f := favored{lookup: func(ctx context.Context, host string) ([]net.IP, error) {
		asked[host]++
		switch host {
		case "one":
			return []net.IP{net.IPv4(10, 0, 0, 1), net.IPv4(10, 0, 0, 2)}, nil
		case "slow":
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return nil, errors.New("no such host")
	}}
	for range 2 {
		for server, want := range map[string]string{"one:16020": "10.0.0.1:16020", "127.0.0.2:16020": "127.0.0.2:16020", "none:16020": "", "": "", "one": ""} {
			if got := f.address(t.Context(), server); got != want {
				t.Errorf("%q is at %q, want %q", server, got, want)
			}
		}
	}
	if asked["one"] != 1 || asked["none"] != 1 || asked["127.0.0.2"] != 0 {
		t.Errorf("asked for %v", asked)
	}
	// After a lookup that took too long no further lookup is made; known hosts are still resolved.
	for _, server := range []string{"slow:16020", "two:16020"} {
		if got := f.address(t.Context(), server); got != "" {
			t.Errorf("%q is at %q", server, got)
		}
	}
	if got := f.address(t.Context(), "one:16020"); got != "10.0.0.1:16020" || asked["two"] != 0 || asked["one"] != 1 {
		t.Errorf("%q, asked for %v", got, asked)
	}
}

// TestFavoredStopped checks that a cancelled lookup is not cached as an unknown host.
func TestFavoredStopped(t *testing.T) {
	f := favored{lookup: func(ctx context.Context, _ string) ([]net.IP, error) {
		return []net.IP{net.IPv4(10, 0, 0, 1)}, ctx.Err()
	}}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got := f.address(ctx, "one:1"); got != "" {
		t.Errorf("stopped: %q", got)
	}
	if got := f.address(t.Context(), "one:1"); got != "10.0.0.1:1" {
		t.Errorf("then: %q", got)
	}
}
