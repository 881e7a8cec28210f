package testcluster

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"bulkload/internal/hadoop/frames"
	"bulkload/internal/test/testcheck"

	"google.golang.org/protobuf/encoding/protowire"
	"pgregory.net/rapid"
)

func TestToolMissing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	t.Setenv("JAVA_HOME", "")
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv(EnvLib, "")
	_, err := Start(t.Context(), Options{})
	if !errors.Is(err, ErrToolchain) || !strings.Contains(err.Error(), "apt-get install -y openjdk-17-jdk-headless maven") {
		t.Errorf("without java and mvn: %v", err)
	}
}

func TestValidate(t *testing.T) {
	for name, o := range map[string]Options{
		"too many servers":      {RegionServers: 10},
		"port too high":         {Port: 65530},
		"detached without dir":  {Detached: true},
		"heap of an odd role":   {HeapMB: map[Role]int{"yarn": 100}},
		"heap of a second role": {HeapMB: map[Role]int{RegionServer.Nth(2): 100}},
	} {
		if o.Validate() == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if err := (Options{}).Validate(); err != nil {
		t.Errorf("zero value: %v", err)
	}
}

// TestYARNClassPath checks that with Kerberos the classes that replace Hadoop's precede its jars, and that otherwise
// the jars are first, as an archive of classes requires.
func TestYARNClassPath(t *testing.T) {
	l, lib := layout{t.TempDir()}, t.TempDir()
	for _, role := range []Role{ResourceManager, NodeManager, HistoryServer} {
		for first, security := range map[string]Security{l.yarnClasses(): {Kerberos: true}, jarPath(lib): {}} {
			argv := daemonCommand("java", lib, "classes", l, Ports{YARN: &YARNPorts{NodeManager: make([]NodeManagerPort, 1)}}, role, Options{YARN: true, Security: security})
			path := argv[slices.Index(argv, "-cp")+1]
			if got := filepath.SplitList(path)[0]; got != first {
				t.Errorf("%s: the class path begins with %s, want %s", role, got, first)
			}
		}
	}
}

// An existing directory is complete, whatever happened before, and is created once.
func TestFillOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "lib")
	broken := errors.New("connection lost")
	err := fillOnce(t.Context(), dir, func(part string) error {
		return errors.Join(os.WriteFile(filepath.Join(part, "half"), nil, 0o644), broken)
	})
	if !errors.Is(err, broken) {
		t.Fatalf("error %v", err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("the directory is there after a failure: %v", err)
	}
	// Remains of a killed process.
	if err := os.MkdirAll(dir+".part", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir+".part", "old"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	var fills atomic.Int32
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			err := fillOnce(t.Context(), dir, func(part string) error {
				fills.Add(1)
				return os.WriteFile(filepath.Join(part, "jar"), nil, 0o644)
			})
			if err != nil {
				t.Error(err)
			}
			if _, err := os.Stat(filepath.Join(dir, "jar")); err != nil {
				t.Errorf("not complete when returned: %v", err)
			}
		})
	}
	wg.Wait()
	if n := fills.Load(); n != 1 {
		t.Errorf("filled %d times", n)
	}
	if _, err := os.Stat(filepath.Join(dir, "old")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what a killed process left is in: %v", err)
	}
}

func TestLockFileGivesUp(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	unlock, err := lockFile(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := lockFile(ctx, path); !errors.Is(err, context.Canceled) {
		t.Errorf("a lock that is held: %v", err)
	}
	unlock()
	again, err := lockFile(ctx, path)
	if err != nil {
		t.Fatalf("a lock that is free: %v", err)
	}
	again()
}

func TestPorts(t *testing.T) {
	p, err := pickPorts(0, 3, 2, 2)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[int]bool{}
	all := append([]int{p.NameNode, p.NameNodeHTTP, p.Standby, p.StandbyHTTP, p.Journal, p.JournalHTTP, p.ZooKeeper, p.Master, p.KDC, p.KMS}, p.RegionServer...)
	for _, d := range p.DataNode {
		all = append(all, d.Data, d.IPC, d.HTTP)
	}
	y := p.YARN
	all = append(all, y.Resource, y.Scheduler, y.Tracker, y.Admin, y.Web, y.History, y.HistoryAdmin, y.HistoryWeb)
	for _, n := range y.NodeManager {
		all = append(all, n.Containers, n.Localizer, n.Web, n.Shuffle)
	}
	for _, port := range all {
		if seen[port] {
			t.Errorf("port %d twice", port)
		}
		seen[port] = true
	}
	if len(seen) != portsNeeded(3, 2, 2) {
		t.Errorf("%d ports, %d counted", len(seen), portsNeeded(3, 2, 2))
	}
	l, err := net.Listen("tcp4", ":0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	taken := l.Addr().(*net.TCPAddr).Port
	if _, err := pickPorts(taken, 1, 1, 0); err == nil {
		t.Error("a taken port is given")
	}
}

func TestSiteXML(t *testing.T) {
	text := siteXML(map[string]string{"a": "1", "b": "2"}, map[string]string{"b": "<&>", "c": "3"})
	var conf struct {
		Property []struct {
			Name  string `xml:"name"`
			Value string `xml:"value"`
		} `xml:"property"`
	}
	if err := xml.Unmarshal([]byte(text), &conf); err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for _, p := range conf.Property {
		got.WriteString(p.Name + "=" + p.Value + " ")
	}
	if got.String() != "a=1 b=<&> c=3 " {
		t.Errorf("properties %s", got.String())
	}
}

func TestIdentity(t *testing.T) {
	me, err := identify(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if !me.alive() {
		t.Error("this process is not alive")
	}
	for name, other := range map[string]identity{
		"pid used again": {Pid: me.Pid, StartTicks: me.StartTicks + 1, Boot: me.Boot},
		"before a boot":  {Pid: me.Pid, StartTicks: me.StartTicks, Boot: "another"},
		"none":           {},
	} {
		if other.alive() {
			t.Errorf("%s: alive", name)
		}
		if err := other.signal(0); !errors.Is(err, os.ErrProcessDone) {
			t.Errorf("%s: signalled, %v", name, err)
		}
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add([]byte("12 (a) b) c) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4711 20"))
	f.Add([]byte("12 (java) Z"))
	f.Add([]byte(")"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if _, state, err := parseStat(data); err == nil && state == 0 {
			t.Error("no state and no error")
		}
	})
}

func TestParseStat(t *testing.T) {
	ticks, state, err := parseStat([]byte("12 (a) b) c) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4711 20"))
	if ticks != 4711 || state != 'S' || err != nil {
		t.Errorf("%d %c %v", ticks, state, err)
	}
}

func TestEscape(t *testing.T) {
	testcheck.Check(t, func(t *rapid.T) {
		s := rapid.String().Draw(t, "s") + rapid.StringMatching(`[\\\t\n\rtnr]*`).Draw(t, "hard")
		e := escape.Replace(s)
		if strings.ContainsAny(e, "\t\n\r") {
			t.Fatalf("%q keeps a separator", e)
		}
		if got := unescape.Replace(e); got != s {
			t.Fatalf("%q comes back as %q", s, got)
		}
	})
}

func FuzzFields(f *testing.F) {
	f.Add(protowire.AppendVarint(protowire.AppendTag(nil, 6, protowire.VarintType), 7))
	f.Add(protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), []byte("x")))
	f.Fuzz(func(t *testing.T, data []byte) {
		frames.Fields(data, func(_ protowire.Number, _ uint64, field []byte) {
			if !bytes.Contains(data, field) {
				t.Error("a field is not part of the message")
			}
		})
	})
}

func TestRole(t *testing.T) {
	if RegionServer.Nth(1) != RegionServer || RegionServer.Nth(3) != "regionserver-3" {
		t.Error(RegionServer.Nth(3))
	}
	if r := DataNode.Nth(3); r.base() != DataNode || r.index() != 2 || DataNode.index() != 0 {
		t.Errorf("%s: %s %d", r, r.base(), r.index())
	}
}

func TestJudge(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a JVM")
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "hfile")
	// base64 of row, f, q; timestamp; type; base64 of value.
	cell := "cm93\tZg==\tcQ==\t7\tPut\tdmFsdWU="
	if _, err := JudgeInput(t.Context(), strings.NewReader(cell+"\n"), "write", file, "--compression", "SNAPPY", "--encoding", "FAST_DIFF", "--bloom", "ROW"); err != nil {
		t.Fatal(err)
	}
	out, err := Judge(t.Context(), "cells", file)
	if err != nil || strings.TrimSpace(out) != cell {
		t.Errorf("cells %q, %v", out, err)
	}
	if out, err := Judge(t.Context(), "check", file); err != nil {
		t.Errorf("check of a good file: %v\n%s", err, out)
	}
	if err := os.WriteFile(file, []byte("not an hfile"), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := Judge(t.Context(), "cells", file); err == nil {
		t.Errorf("cells of no hfile: %q", out)
	}
}

// TestRename checks that two file systems of one image have different names, and otherwise equal VERSION files.
func TestRename(t *testing.T) {
	const text = "namespaceID=992286788\nblockpoolID=BP-1958458713-127.0.0.1-1795663668668\nclusterID=CID-3d323ac9-8b8b-4f1e-b732-48e8d1248aa5\nlayoutVersion=-67\n"
	var made []string
	for range 2 {
		file := filepath.Join(t.TempDir(), "VERSION")
		testcheck.Must(t, os.WriteFile(file, []byte(text), 0o644))
		testcheck.Must(t, rename(file))
		got, err := os.ReadFile(file)
		testcheck.Must(t, err)
		made = append(made, string(got))
		name, _, _ := strings.Cut(strings.SplitN(made[0], "BP-", 2)[1], "-")
		if made[0] != strings.NewReplacer("1958458713", name, "3d323ac9", name).Replace(text) {
			t.Errorf("renamed: %s", made[0])
		}
	}
	if made[0] == made[1] {
		t.Error("two have the same names")
	}
}
