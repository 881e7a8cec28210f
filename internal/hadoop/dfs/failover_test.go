package dfs

import (
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"bulkload/internal/hadoop/frames"
	"bulkload/internal/test/testcheck"
)

// TestNameNodeErrors checks that an error of a NameNode that a connection to a DataNode needs is a [NameNodeError], and is not recorded as one of
// the DataNode.
func TestNameNodeErrors(t *testing.T) {
	node := testcheck.Serve(t, func(net.Conn) {})
	block := *blockAt(t, node.Addr()).WithSize(10)
	s := newStripes(t)
	for what, read := range map[string]func(c *Client) error{
		"a block": func(c *Client) error {
			r := c.Open("/f", 1, 10)
			r.blocks = []Block{block}
			_, err := r.ReadAt(t.Context(), make([]byte, 10), 0)
			return err
		},
		"a file whose blocks are not located": func(c *Client) error {
			_, err := c.Open("/f", 1, 10).ReadAt(t.Context(), make([]byte, 10), 0)
			return err
		},
		"a group of blocks": func(c *Client) error {
			p := Policy{"xor", "xor", 2, 1, 64}
			s.hold(t, p, noise(1000), 512)
			l, err := s.client.Locate(t.Context(), "/f", 0, 1000)
			testcheck.Must(t, err)
			r := c.OpenStriped("/f", s.id, 1000, p)
			r.groups = l.Blocks
			_, err = r.ReadAt(t.Context(), make([]byte, 10), 0)
			return err
		},
		"a group that is not located": func(c *Client) error {
			_, err := c.OpenStriped("/f", 1, 10, Policy{"xor", "xor", 2, 1, 64}).ReadAt(t.Context(), make([]byte, 10), 0)
			return err
		},
		"a written block": func(c *Client) error {
			_, err := (&File{client: c}).WriteBlock(t.Context(), block)
			return err
		},
	} {
		for _, secret := range []bool{false, true} {
			c := ready(t)
			c.defaults.encrypted = true
			if !secret {
				c.defaults = knownDefaults{}
			}
			if err := read(c); !ofNameNode(err) || strings.Contains(err.Error(), "write to") || len(c.failed) > 0 {
				t.Errorf("%s, encrypted %t: %v, failed %v", what, secret, err, c.failed)
			}
		}
	}
	r := ready(t).Open("/f", 1, 10)
	r.blocks = []Block{block}
	if _, err := r.ReadAt(t.Context(), make([]byte, 10), 0); err == nil || ofNameNode(err) || len(r.client.failed) != 1 {
		t.Errorf("a DataNode that closes the connection: %v, failed %v", err, r.client.failed)
	}
}

// TestDefaultsAreKept checks that the NameNode is asked for its defaults once an hour.
func TestDefaultsAreKept(t *testing.T) {
	calls := 0
	c := nameNode(t, func(string, []byte) []byte {
		calls++
		return frames.AppendBytes(nil, 1, frames.AppendNumber(frames.AppendNumber(nil, 1, 1<<20), 4, 1))
	})
	for _, known := range []struct {
		ago   time.Duration
		calls int
	}{{59 * time.Minute, 0}, {61 * time.Minute, 1}, {0, 1}} {
		if known.ago > 0 {
			c.defaults.at = time.Now().Add(-known.ago)
		}
		if d, err := c.Defaults(t.Context()); err != nil || d.BlockSize != 1<<20 || calls != known.calls {
			t.Errorf("after %s: %+v, %v, %d calls", known.ago, d, err, calls)
		}
	}
	c.defaults, c.options.Addresses = knownDefaults{}, []string{testcheck.ClosedAddress(t)}
	c.Rest()
	if _, err := c.Defaults(t.Context()); err == nil || errors.Is(err, ErrReplaced) {
		t.Errorf("a NameNode that is away: %v", err)
	}
}
