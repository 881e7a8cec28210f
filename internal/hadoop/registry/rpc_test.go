package registry

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"bulkload/internal/hadoop/frames"
	"bulkload/internal/hadoop/hbaserpc"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testrpc"
)

func serverName(host string, port uint64) []byte {
	return frames.AppendNumber(frames.AppendNumber(frames.AppendBytes(nil, serverHost, []byte(host)), serverPort, port), 3, 1700000000000)
}

// metaAt returns a RegionLocation of a replica of hbase:meta.
func metaAt(replica uint64, server []byte) []byte {
	info := frames.AppendNumber(frames.AppendNumber(nil, 1, 1), regionReplica, replica)
	location := frames.AppendBytes(nil, locationRegion, info)
	if server != nil {
		location = frames.AppendBytes(location, locationServer, server)
	}
	return frames.AppendBytes(nil, answerMeta, frames.AppendNumber(location, 3, 7))
}

func TestRegistryAnswers(t *testing.T) {
	second, first := metaAt(1, serverName("replica", 16020)), metaAt(0, serverName("meta.example", 16020))
	for name, c := range map[string]struct {
		answer []byte
		want   string
		err    error
	}{
		"one":             {answer: first, want: "meta.example:16020"},
		"replica first":   {answer: append(second, first...), want: "meta.example:16020"},
		"no default":      {answer: frames.AppendBytes(nil, answerMeta, frames.AppendBytes(nil, locationServer, serverName("v6::1", 1))), want: "[v6::1]:1"},
		"nothing":         {err: errEmpty},
		"replicas only":   {answer: second, err: errEmpty},
		"on no server":    {answer: metaAt(0, nil), err: errEmpty},
		"port 0":          {answer: metaAt(0, serverName("h", 0))},
		"port too large":  {answer: metaAt(0, serverName("h", 1<<16))},
		"no host":         {answer: metaAt(0, serverName("", 1))},
		"host too long":   {answer: metaAt(0, serverName(strings.Repeat("h", 256), 1))},
		"cut short":       {answer: first[:len(first)-1]},
		"a lying length":  {answer: []byte{answerMeta<<3 | 2, 0xff, 0xff, 0xff, 0xff, 0x0f}},
		"numbers instead": {answer: frames.AppendNumber(nil, answerMeta, 5), err: errEmpty},
	} {
		got, err := metaLocation(c.answer)
		if got != c.want || (err == nil) != (c.want != "") || c.err != nil && !errors.Is(err, c.err) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if got, err := activeMaster(frames.AppendBytes(nil, answerMaster, serverName("m", 16000))); got != "m:16000" || err != nil {
		t.Error(got, err)
	}
	if got, err := activeMaster(nil); got != "" || err != nil {
		t.Error("no master:", got, err)
	}
	if got, err := activeMaster(frames.AppendBytes(nil, answerMaster, serverName("m", 0))); err == nil {
		t.Error("a master without a port:", got)
	}
	var many []byte
	for i := range uint64(500) {
		many = frames.AppendBytes(many, answerNode, serverName("n", i%100)) // port 0 is none, each is there five times
	}
	if got := bootstrapNodes(many); len(got) != maxServers || got[0] != "n:1" {
		t.Errorf("%d nodes: %v", len(got), got)
	}
}

func FuzzRegistry(f *testing.F) {
	f.Add(metaAt(0, serverName("meta", 16020)))
	f.Add(append(metaAt(1, serverName("replica", 16020)), metaAt(0, nil)...))
	f.Add(frames.AppendBytes(nil, answerNode, serverName("n", 1)))
	f.Fuzz(func(t *testing.T, answer []byte) {
		addrs := bootstrapNodes(answer)
		if meta, err := metaLocation(answer); err == nil {
			addrs = append(addrs, meta)
		}
		if master, err := activeMaster(answer); err == nil && master != "" {
			addrs = append(addrs, master)
		}
		if len(addrs) > maxServers+2 {
			t.Fatalf("%d addresses", len(addrs))
		}
		// An address from an answer must be as valid as one from a configuration.
		for _, addr := range addrs {
			if err := CheckServers([]string{addr}); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// registryServer returns the address of a registry whose answers have the given fields, by method. The answer for
// another method is an exception.
func registryServer(t *testing.T, answers map[string][]byte) string {
	t.Helper()
	return testcheck.Serve(t, func(nc net.Conn) {
		testrpc.Serve(nc, func(c *testrpc.Call) error {
			answer, ok := answers[c.Method]
			if !ok {
				return &testrpc.Exception{Class: "org.apache.hadoop.hbase.DoNotRetryIOException", Message: "no such method"}
			}
			c.Answer.ProtoReflect().SetUnknown(answer)
			return nil
		})
	}).Addr().String()
}

// registryOf returns a Registry that asks servers.
func registryOf(t *testing.T, timeout time.Duration, servers ...string) *Registry {
	t.Helper()
	client := hbaserpc.NewClient(hbaserpc.Options{User: "x", Dialer: (&net.Dialer{}).DialContext, DialTimeout: time.Minute, CallTimeout: time.Minute})
	t.Cleanup(client.Close)
	return New(client, Options{Servers: servers, Timeout: timeout, Log: slog.New(slog.DiscardHandler)})
}

// TestRegistryServers checks that the cluster is found through one server that answers, and that further servers are
// learned.
func TestRegistryServers(t *testing.T) {
	closed := testcheck.ClosedAddress(t)
	answers := map[string][]byte{
		"GetMetaRegionLocations": metaAt(0, serverName("meta", 16020)),
		"GetClusterId":           frames.AppendBytes(nil, answerID, []byte("some-id")),
		"GetActiveMaster":        frames.AppendBytes(nil, answerMaster, serverName("master", 16000)),
	}
	starting := registryServer(t, map[string][]byte{"GetActiveMaster": nil, "GetMetaRegionLocations": nil})
	old := registryServer(t, answers) // without GetBootstrapNodes, like HBase 2.4
	c := registryOf(t, time.Minute, closed, starting, old)
	for range 4 { // any of the servers may be asked first
		p, err := c.Master(t.Context())
		c.Forget(p)
		p.lookup = 0
		if want := (Places{Meta: "meta:16020", Master: "master:16000", ID: "some-id"}); err != nil || p != want {
			t.Errorf("%+v, %v", p, err)
		}
	}
	if id, err := c.ID(t.Context()); id != "some-id" || err != nil {
		t.Error(id, err)
	}

	// A server without the location of hbase:meta names the master, which has it.
	host, port, _ := net.SplitHostPort(old)
	n, err := net.LookupPort("tcp", port)
	testcheck.Must(t, err)
	unaware := registryServer(t, map[string][]byte{"GetActiveMaster": frames.AppendBytes(nil, answerMaster, serverName(host, uint64(n))), "GetMetaRegionLocations": nil})
	if p, err := registryOf(t, time.Minute, unaware).Meta(t.Context()); p.Meta != "meta:16020" || err != nil {
		t.Error(p, err)
	}

	// A server names others, and then stops.
	answers["GetBootstrapNodes"] = frames.AppendBytes(nil, answerNode, serverName(host, uint64(n)))
	first := registryServer(t, answers)
	d := registryOf(t, time.Minute, first)
	p, err := d.Meta(t.Context())
	testcheck.Must(t, err)
	d.options.Servers = []string{closed} // as if it had died
	d.Forget(p)
	if p, err := d.Meta(t.Context()); p.Meta != "meta:16020" || err != nil {
		t.Error(p, err)
	}
}

// TestRegistryErrors checks that errors name each server and its problem.
func TestRegistryErrors(t *testing.T) {
	starting := registryServer(t, map[string][]byte{"GetActiveMaster": nil, "GetMetaRegionLocations": nil})
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	testcheck.Must(t, err)
	defer silent.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	// On a machine that is busy for half a second the starting server does not answer either.
	testcheck.Eventually(t, time.Minute, "an error that names both", func() (bool, any) {
		_, err := registryOf(t, 1500*time.Millisecond, starting, silent.Addr().String()).Meta(ctx)
		if _, ok := errors.AsType[*LookupError](err); !ok || !strings.Contains(err.Error(), "ask RPC registry "+starting) || !strings.Contains(err.Error(), "no answer within 500ms") {
			t.Fatalf("error %v", err)
		}
		return errors.Is(err, errEmpty), err
	})
	lying := testcheck.Serve(t, func(nc net.Conn) {
		testrpc.Serve(nc, func(c *testrpc.Call) error {
			c.Raw = []byte{0xff, 0xff, 0xff, 0xff}
			return nil
		})
	})
	_, err = registryOf(t, time.Minute, lying.Addr().String()).Meta(ctx)
	if _, ok := errors.AsType[*frames.Error](err); !ok {
		t.Errorf("a lying length: %v", err)
	}
	for name, servers := range map[string][]string{
		"no port": {"h"}, "no host": {":1"}, "port 0": {"h:0"}, "port name": {"h:http"}, "port too large": {"h:65536"}, "too many": make([]string, 65),
	} {
		if err := CheckServers(servers); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if err := CheckServers([]string{"h:1", "[::1]:2"}); err != nil {
		t.Error(err)
	}
}
