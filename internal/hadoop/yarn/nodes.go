package yarn

import (
	"cmp"
	"context"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Node is a host that runs containers.
type Node struct {
	ID   string // host:port
	Host string
	HTTP string // host:port of its web server; empty if it has none
}

// Nodes returns the running nodes, sorted by id.
func (c *Client) Nodes(ctx context.Context) ([]Node, error) {
	var out struct {
		Nodes *struct {
			Node list[struct{ ID, NodeHostName, NodeHTTPAddress string }]
		}
	}
	a, err := c.get(ctx, "/ws/v1/cluster/nodes", url.Values{"states": {"RUNNING"}}, &out)
	if err != nil {
		return nil, err
	}
	if out.Nodes == nil {
		return nil, a.none("nodes", "nodes")
	}
	nodes := make([]Node, 0, len(out.Nodes.Node))
	for _, n := range out.Nodes.Node {
		nodes = append(nodes, Node{ID: n.ID, Host: n.NodeHostName, HTTP: n.NodeHTTPAddress})
	}
	slices.SortFunc(nodes, func(a, b Node) int { return cmp.Compare(a.ID, b.ID) })
	return nodes, nil
}

// maxSystem limits the size of a NodeManager's response about its system, in bytes.
const maxSystem = 1 << 20

// Processor returns the processor architecture of a NodeManager's JVM by Java's name: amd64, aarch64. The ResourceManager does not know
// it; the NodeManager's web server, which must be reachable, has it among its metrics.
func (c *Client) Processor(ctx context.Context, address string) (string, error) {
	base := c.nodeBase(address)
	if base == "" {
		return "", &Error{URL: address, Why: "no address of a NodeManager", Err: ErrUnknown}
	}
	a, err := c.ask(ctx, base, request{path: "/jmx", query: url.Values{"qry": {"java.lang:type=OperatingSystem"}}, most: maxSystem})
	if err != nil {
		return "", err
	}
	var out struct{ Beans []struct{ Arch string } }
	if a.status/100 == 3 {
		return "", &Error{URL: a.url, Status: a.status, Err: ErrUnknown}
	}
	if err := a.decode(&out); err != nil {
		return "", err
	}
	for _, b := range out.Beans {
		if b.Arch != "" {
			return printable(b.Arch, 100), nil
		}
	}
	return "", &Error{URL: a.url, Status: http.StatusOK, Why: "the answer has no processor", Err: ErrUnknown}
}

// nodeBase returns the base address of a NodeManager's web server, "" if address is invalid.
func (c *Client) nodeBase(address string) string {
	host, port, err := net.SplitHostPort(address)
	if _, bad := strconv.ParseUint(port, 10, 16); err != nil || bad != nil || host == "" {
		return ""
	}
	if strings.HasPrefix(c.options.ResourceManagers[0], "https:") {
		return "https://" + address
	}
	return "http://" + address
}
