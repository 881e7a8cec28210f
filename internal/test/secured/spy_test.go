package secured

import (
	"bytes"
	"crypto/md5"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"bulkload/internal/test/testcluster"
)

// wire has the bytes of one connection in one direction.
type wire struct {
	to    string // the other end
	out   bool
	bytes []byte
}

// servers returns the cluster's servers by port.
func (s *site) servers() map[int]string {
	p := s.c.Ports()
	all := map[int]string{p.KDC: "KDC", p.NameNode: "NameNode", p.ZooKeeper: "ZooKeeper", p.Master: "master"}
	for _, d := range p.DataNode {
		all[d.Data] = "DataNode"
	}
	for _, port := range p.RegionServer {
		all[port] = "region server"
	}
	return all
}

// spied reads the records of the spying program.
func (s *site) spied(t testing.TB, dir string) []wire {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	servers := s.servers()
	var all []wire
	for _, e := range entries {
		remote, _, _ := strings.Cut(e.Name(), "-")
		port, err := strconv.Atoi(remote)
		if err != nil || servers[port] == "" {
			t.Fatalf("a connection to nothing of the cluster: %s", e.Name())
		}
		all = append(all, wire{servers[port], filepath.Ext(e.Name()) == ".out", []byte(read(t, filepath.Join(dir, e.Name())))})
	}
	return all
}

// secret is data of a job that only the two ends may see.
type secret struct {
	what string
	text string
	on   []string // connections on which it is visible without encryption: one name, to or from
}

// secrets returns the secrets of a job with the exports of check, whose file is read from HDFS.
func secrets(t testing.TB, table, staging, input, key string) []secret {
	t.Helper()
	return []secret{
		{"path of the staging directory", staging, []string{"to NameNode", "to region server"}},
		{"group of files", "supergroup", []string{"from NameNode"}},
		{"path of the input", path.Base(input), []string{"to NameNode"}},
		{"table", table, []string{"to region server", "from region server", "from master"}},
		{"column", "artificial_ver_result", []string{"from DataNode", "from region server"}},
		{"query key, a value", key, []string{"from DataNode", "from region server"}},
		{"row key", rowKey(key), []string{"from region server"}},
		{"value", "疑似欺诈，转反欺诈组", []string{"from DataNode", "from region server"}},
	}
}

// rowKey returns the part of a row key that a query key determines: without salt and id.
func rowKey(query string) string { return fmt.Sprintf("%x", md5.Sum([]byte(query))) }

func (w wire) name() string {
	if w.out {
		return "to " + w.to
	}
	return "from " + w.to
}

// spyJob runs a job whose input is on HDFS, a get and a scan with the spying program, and returns the bytes on its
// sockets.
func spyJob(t *testing.T, s *site) ([]wire, []secret) {
	t.Helper()
	e := small(t)[0]
	table, staging, input := "spied_table", "/tmp/spied-staging", "/tmp/spied-input.csv"
	s.create(t, table, e.salts)
	s.put(t, input, e.input)
	e.input = "hdfs://" + input
	spy := s.with("BULKLOAD_SPY=" + t.TempDir())
	spy.program = spying(t)
	dir := strings.TrimPrefix(spy.env[len(spy.env)-1], "BULKLOAD_SPY=")
	spy.load(t, e, table, "--staging", staging)
	spy.holds(t, e, table)
	return s.spied(t, dir), secrets(t, table, staging, input, e.key[0])
}

// put copies a local file to HDFS, as the user of the site.
func (s *site) put(t testing.TB, name, local string) {
	t.Helper()
	a := s.c.AdminAsT(t, s.user)
	if _, err := a.Run(t.Context(), "write", name, read(t, local)); err != nil {
		t.Fatal(err)
	}

}

// testSealed checks that the bytes on the sockets contain no secret of a job, whatever the other end.
func testSealed(t *testing.T, s *site) {
	wires, hidden := spyJob(t, s)
	seen := map[string]int{}
	for _, w := range wires {
		seen[w.name()] += len(w.bytes)
		for _, h := range hidden {
			if i := bytes.Index(w.bytes, []byte(h.text)); i >= 0 {
				t.Errorf("%s is in clear %s, at byte %d of %d", h.what, w.name(), i, len(w.bytes))
			}
		}
	}
	t.Logf("bytes: %v", seen)
	for _, peer := range []string{"NameNode", "DataNode", "region server"} {
		for _, name := range []string{"to " + peer, "from " + peer} {
			if seen[name] < 1000 {
				t.Errorf("the spy has %d bytes %s: it does not see what it should", seen[name], name)
			}
		}
	}
}

// testSeen checks that the bytes on the sockets contain all secrets of a job: this shows that the spy works.
func testSeen(t *testing.T, s *site) {
	wires, hidden := spyJob(t, s)
	for _, h := range hidden {
		for _, on := range h.on {
			if !slices.ContainsFunc(wires, func(w wire) bool { return w.name() == on && bytes.Contains(w.bytes, []byte(h.text)) }) {
				t.Errorf("%s is not seen %s", h.what, on)
			}
		}
	}
}

// testFlipped flips one bit on the way to or from a kind of server, after the login. The receiver must detect it, the
// program with a line of its log and a server with one of its own; and the job must complete, in that run or when the
// command is repeated.
func testFlipped(t *testing.T, s *site) {
	e := small(t)[0]
	input := "/tmp/flipped-input.csv"
	s.put(t, input, e.input)
	e.input = "hdfs://" + input
	spy := s.with()
	spy.program = spying(t)
	for i, f := range []struct {
		role testcluster.Role
		dir  string
		at   int
	}{
		{testcluster.NameNode, "in", 1500}, {testcluster.NameNode, "out", 2500}, {testcluster.DataNode, "in", 2000},
		{testcluster.DataNode, "out", 3000}, {testcluster.RegionServer, "in", 3000}, {testcluster.RegionServer, "out", 2500},
	} {
		t.Run(string(f.role)+" "+f.dir, func(t *testing.T) {
			table := fmt.Sprintf("flipped_%d", i)
			s.create(t, table, e.salts)
			log := s.c.Daemon(f.role).LogPath()
			before := len(read(t, log))
			own := spy.at(t).with(fmt.Sprintf("BULKLOAD_SPY_FLIP=%d:%s:%d", s.port(f.role), f.dir, f.at))
			r := own.do(t, own.loading(e, table, "--log-level", "debug")...)
			said := r.err
			if f.dir == "out" {
				said = read(t, log)[before:]
			}
			found := noticed.FindString(said)
			t.Logf("exit code %d after %.1f s: %s", r.code, r.took.Seconds(), found)
			if found == "" {
				t.Errorf("a flipped bit was not noticed: %s", r.message())
			}
			if r.code != 0 {
				own.program = s.program
				own.load(t, e, table)
			}
			s.holds(t, e, table)
			s.loadedOnce(t, table)
		})
	}
}

// noticed are the messages about changed data: of the program, and of Java's GSS-API and SASL.
var noticed = regexp.MustCompile(`(?i).*(checksum|integrity|GSSException|MAC check|was changed|SaslException|Unmatched MACs).*`)

// port returns the port of the servers of a role.
func (s *site) port(role testcluster.Role) int {
	p := s.c.Ports()
	switch role {
	case testcluster.NameNode:
		return p.NameNode
	case testcluster.DataNode:
		return p.DataNode[0].Data
	}
	return p.RegionServer[0]
}
