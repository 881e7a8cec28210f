package yarn

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

const (
	nodesJSON = `{"nodes":{"node":[{"rack":"/default-rack","state":"RUNNING","id":"w2:45454","nodeHostName":"w2","nodeHTTPAddress":"w2:8042","version":"3.4.3"},` +
		`{"rack":"/default-rack","state":"RUNNING","id":"w1:45454","nodeHostName":"w1","nodeHTTPAddress":"w1:8042","version":"3.4.3"}]}}`
	systemJSON = `{"beans":[{"name":"java.lang:type=OperatingSystem","modelerType":"x","TotalMemorySize":1,"Name":"Linux","AvailableProcessors":2,"Arch":"amd64","SystemLoadAverage":3.5}]}`
)

func TestNodes(t *testing.T) {
	for answer, want := range map[string]string{
		nodesJSON:        "[{w1:45454 w1 w1:8042} {w2:45454 w2 w2:8042}]",
		`{"nodes":null}`: "[]",
		`{"nodes":{"node":{"id":"w1:1","state":"RUNNING"}}}`: "[{w1:1  }]",
	} {
		s := server(t, map[string]string{"GET /ws/v1/cluster/nodes": answer})
		if n, err := client(t, Options{Addresses: Addresses{ResourceManagers: []string{s.URL}}}).Nodes(t.Context()); err != nil || fmt.Sprint(n) != want {
			t.Errorf("%s: %v, %v", answer, n, err)
		}
	}
	s := server(t, map[string]string{"GET /ws/v1/cluster/nodes": `{"else":1}`})
	if _, err := client(t, Options{Addresses: Addresses{ResourceManagers: []string{s.URL}}}).Nodes(t.Context()); !errors.Is(err, ErrUnreachable) {
		t.Errorf("an answer without nodes: %v", err)
	}
}

func TestProcessor(t *testing.T) {
	c := client(t, Options{Addresses: Addresses{ResourceManagers: []string{"http://127.0.0.1:1"}}})
	node := server(t, map[string]string{"GET /jmx": systemJSON})
	if got, err := c.Processor(t.Context(), strings.TrimPrefix(node.URL, "http://")); err != nil || got != "amd64" {
		t.Errorf("%q, %v", got, err)
	}
	for name, answers := range map[string]map[string]string{
		"none":      nil,
		"no beans":  {"GET /jmx": `{"beans":[]}`},
		"elsewhere": {"GET /jmx": "302|http://elsewhere.invalid/"},
		"no JSON":   {"GET /jmx": "<html>"},
	} {
		node := server(t, answers)
		if got, err := c.Processor(t.Context(), strings.TrimPrefix(node.URL, "http://")); err == nil {
			t.Errorf("%s: %q", name, got)
		}
	}
	for _, bad := range []string{"", "host", "http://x"} {
		if _, err := c.Processor(t.Context(), bad); !errors.Is(err, ErrUnknown) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
