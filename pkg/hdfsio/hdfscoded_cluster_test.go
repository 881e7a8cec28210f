package hdfsio

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testcluster"
	"bulkload/pkg/kerberos"
)

// coded is a cluster for erasure coded files, with a client of the superuser, and a directory.
type coded struct {
	cluster *testcluster.Cluster
	fs      *HDFS
	dir     string
	rand    *rand.Rand
}

func newCoded(t *testing.T, o testcluster.Options) *coded {
	t.Helper()
	t.Setenv("HADOOP_USER_NAME", "hbase") // the superuser of HDFS without Kerberos
	c := testcluster.Own(t, o)
	h := clientOf(t, c, "hbase", func(ho *HDFSOptions) {
		if !o.Security.Kerberos {
			return
		}
		krb, err := kerberos.LoadConfig(c.Krb5Conf())
		testcheck.Must(t, err)
		login, err := kerberos.Login(t.Context(), kerberos.Options{Config: krb, Principal: testcluster.Principal(testcluster.HDFSAdmin), Keytab: c.Keytab(testcluster.HDFSAdmin)})
		testcheck.Must(t, err)
		t.Cleanup(func() { login.Close() })
		ho.Security = &Security{Kerberos: login, Principal: testcluster.Principal("nn/_HOST")}
	})
	l := &coded{c, h, "/tmp/" + testcheck.Name(t), testcheck.Rand(t)}
	testcheck.Must(t, h.MkdirAll(t.Context(), l.dir, 0o755))
	return l
}

// java runs a class as the superuser.
func (l *coded) java(t testing.TB, class string, args ...string) string {
	t.Helper()
	out, err := l.cluster.JavaClassAs(t.Context(), testcluster.HDFSAdmin, class, args...)
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", class, strings.Join(args, " "), err, out)
	}
	return out
}

// codedDirs creates directories whose files have a policy.
func (l *coded) codedDirs(t testing.TB, policy string, names ...string) {
	t.Helper()
	for i, name := range names {
		names[i] = l.dir + "/" + name
		testcheck.Must(t, l.fs.MkdirAll(t.Context(), names[i], 0o755))
	}
	l.java(t, "Files", append([]string{"policy", policy}, names...)...)
}

// files writes local files of the given sizes, and has Hadoop's own client copy them to directories, each given as "NAME,KEY=VALUE...".
func (l *coded) files(t testing.TB, sizes []int, dirs ...string) map[string][]byte {
	t.Helper()
	local, all := t.TempDir(), map[string][]byte{}
	for _, n := range sizes {
		name := fmt.Sprint(n)
		all[name] = noise(n)
		testcheck.Must(t, os.WriteFile(filepath.Join(local, name), all[name], 0o644))
	}
	args := []string{"put", local}
	for _, dir := range dirs {
		args = append(args, l.dir+"/"+dir)
	}
	l.java(t, "Files", args...)
	return all
}

// same compares a file with want, reading it forward in odd pieces, and at random places.
func (l *coded) same(t testing.TB, name string, want []byte) {
	t.Helper()
	f, err := l.fs.Open(t.Context(), l.dir+"/"+name)
	testcheck.Must(t, err)
	defer f.Close()
	var got bytes.Buffer
	if _, err := io.CopyBuffer(struct{ io.Writer }{&got}, struct{ io.Reader }{f}, make([]byte, 1+l.rand.IntN(700_000))); err != nil || !bytes.Equal(got.Bytes(), want) {
		t.Errorf("%s: %d bytes of %d, or wrong ones: %v", name, got.Len(), len(want), err)
	}
	for range 20 {
		if len(want) == 0 {
			break
		}
		off := l.rand.IntN(len(want))
		p := make([]byte, 1+l.rand.IntN(min(len(want)-off, 3<<20)))
		if n, err := f.(io.ReaderAt).ReadAt(p, int64(off)); err != nil || !bytes.Equal(p, want[off:off+len(p)]) {
			t.Errorf("%s: %d bytes of %d at %d, or wrong ones: %v", name, n, len(p), off, err)
		}
	}
}

// TestErasureCoded reads files that Hadoop's own client has written with XOR-2-1 and a policy of the site, of sizes around the limits of cells,
// stripes and groups, and with unusual checksums, also replicated ones. It also kills a DataNode during a read; without two there must be an error.
func TestErasureCoded(t *testing.T) {
	l := newCoded(t, testcluster.Coded(3))
	testErasureCoded(t, l)
	t.Run("directories", l.directories)
	t.Run("killed", l.killed)
}

func TestErasureCodedSecured(t *testing.T) {
	testcluster.SecuredAll(t)
	o := testcluster.Coded(3)
	o.Security = testcluster.AtLevel(testcluster.Privacy)
	testErasureCoded(t, newCoded(t, o))
}

func testErasureCoded(t *testing.T, l *coded) {
	const cell = 1 << 20
	l.codedDirs(t, "XOR-2-1-1024k", "coded", "refused")
	l.codedDirs(t, "RS-2-1-64k", "coded/own") // a policy of the site
	sizes := []int{0, 1, 512, 65_536, cell - 1, cell, cell + 1, 2*cell - 1, 2 * cell, 4*cell + 1, 10*cell - 271_999}
	var dirs []string
	for _, kind := range []string{
		"coded/", "coded/own/", "coded/,dfs.checksum.type=NULL", "plain/,dfs.checksum.type=NULL", "plain/,dfs.checksum.type=CRC32", "plain/,dfs.bytes-per-checksum=4096",
		"plain/,dfs.bytes-per-checksum=1048576",
	} {
		dir, kind, _ := strings.Cut(kind, ",")
		dir = fmt.Sprint(dir, len(dirs))
		testcheck.Must(t, l.fs.MkdirAll(t.Context(), l.dir+"/"+dir, 0o755))
		dirs = append(dirs, strings.TrimSuffix(dir+",dfs.blocksize=1048576,"+kind, ","))
	}
	all := l.files(t, sizes, dirs...)
	for _, dir := range dirs {
		dir, kind, _ := strings.Cut(dir, ",")
		t.Run(dir+" "+kind, func(t *testing.T) {
			for name, want := range all {
				l.same(t, dir+"/"+name, want)
				_, _, err := l.fs.CRC32C(t.Context(), l.dir+"/"+dir+"/"+name)
				if none := dir[:5] == "coded" || len(want) > 0 && strings.Contains(kind, "type="); errors.Is(err, ErrNoChecksum) != none || !none && err != nil {
					t.Errorf("checksum of %s: %v", name, err)
				}
			}
		})
	}
}

// directories checks that no file is created in a coded directory, and that one is after the command that the error advises.
func (l *coded) directories(t *testing.T) {
	name := l.dir + "/refused/made"
	for _, o := range []CreateOptions{{}, {Interim: true}} {
		_, err := l.fs.Create(t.Context(), name, o)
		e, ok := errors.AsType[*FeatureError](err)
		if !ok || e.Advice != "give it replicas by hdfs ec -setPolicy -replicate -path "+l.dir+"/refused" || !strings.Contains(err.Error(), "erasure coded (XOR-2-1-1024k)") {
			t.Fatalf("created in a coded directory: %v", err)
		}
	}
	below := l.dir + "/refused/job/_writing"
	testcheck.Must(t, l.fs.MkdirAll(t.Context(), below, 0o711))
	_, err := l.fs.Create(t.Context(), below+"/made", CreateOptions{})
	if e, ok := errors.AsType[*FeatureError](err); !ok || !strings.HasSuffix(e.Advice, " -path "+l.dir+"/refused") {
		t.Errorf("created below a coded directory: %v", err)
	}
	l.java(t, "org.apache.hadoop.hdfs.tools.ECAdmin", "-setPolicy", "-replicate", "-path", l.dir+"/refused")
	writeFile(t, l.fs, name, []byte("x"), CreateOptions{})
	if got := readFile(t, l.fs, name); string(got) != "x" {
		t.Errorf("%s has %q", name, got)
	}
}

// killed checks that a read continues without one DataNode, and ends with an error without two.
func (l *coded) killed(t *testing.T) {
	const size = 10<<20 - 271_999 // one of testErasureCoded
	name, want := fmt.Sprintf("coded/0/%d", size), noise(size)
	f, err := l.fs.Open(t.Context(), l.dir+"/"+name)
	testcheck.Must(t, err)
	defer f.Close()
	got := make([]byte, size)
	_, err = io.ReadFull(f, got[:5<<20+1])
	testcheck.Must(t, err)
	testcheck.Must(t, l.cluster.Daemon(testcluster.DataNode.Nth(2)).Kill(t.Context()))
	_, err = io.ReadFull(f, got[5<<20+1:])
	testcheck.Must(t, err)
	if !bytes.Equal(got, want) {
		t.Error("a read with a killed DataNode came back changed")
	}
	l.same(t, name, want)
	testcheck.Must(t, l.cluster.Daemon(testcluster.DataNode.Nth(3)).Kill(t.Context()))
	n, err := f.(io.ReaderAt).ReadAt(got, 0)
	if err == nil || !bytes.HasPrefix(want, got[:n]) || !strings.Contains(err.Error(), "1 of the 2 internal blocks that blk_-") {
		t.Errorf("without two DataNodes: %d bytes, or wrong ones: %v", n, err)
	}
}

// TestErasureCodedFaults reads 100 MB of each policy, and compares some places with the reads of Hadoop's own client, with ever fewer DataNodes.
func TestErasureCodedFaults(t *testing.T) {
	if os.Getenv("BULKLOAD_FAULTS") == "" {
		t.Skip("starts 14 DataNodes: BULKLOAD_FAULTS=1")
	}
	l := newCoded(t, testcluster.Coded(14))
	const size = 100_000_003
	parity := map[string]int{"RS-6-3-1024k": 3, "RS-3-2-1024k": 2, "XOR-2-1-1024k": 1, "RS-10-4-1024k": 4}
	var dirs []string
	for policy := range parity {
		l.codedDirs(t, policy, policy)
		dirs = append(dirs, policy+",dfs.blocksize=8388608")
	}
	const legacy = "RS-LEGACY-6-3-1024k"
	l.codedDirs(t, legacy, legacy)
	dirs = append(dirs, legacy+",dfs.blocksize=8388608")
	testcheck.Must(t, l.fs.MkdirAll(t.Context(), l.dir+"/plain", 0o755))
	want := l.files(t, []int{size}, append(dirs, "plain,dfs.blocksize=8388608")...)[fmt.Sprint(size)]
	for policy := range parity {
		l.asHadoop(t, policy, want)
	}
	_, err := l.fs.Open(t.Context(), fmt.Sprintf("%s/%s/%d", l.dir, legacy, size))
	if e, ok := errors.AsType[*FeatureError](err); !ok || e.Feature != "erasure coded ("+legacy+")" {
		t.Errorf("a file of another codec: %v", err)
	}
	dead := l.rand.Perm(14)
	for n := range 5 {
		for _, policy := range []string{"plain", "XOR-2-1-1024k", "RS-3-2-1024k", "RS-6-3-1024k", "RS-10-4-1024k"} {
			if p, isCoded := parity[policy]; isCoded && n <= p || n == 0 {
				began := time.Now()
				got := readFile(t, l.fs, fmt.Sprintf("%s/%s/%d", l.dir, policy, size))
				t.Logf("%s without %d DataNodes: %.0f MB/s", policy, n, size/1e6/time.Since(began).Seconds())
				if !bytes.Equal(got, want) {
					t.Errorf("%s without %d DataNodes came back changed", policy, n)
				}
				l.same(t, fmt.Sprintf("%s/%d", policy, size), want)
			}
		}
		testcheck.Must(t, l.cluster.Daemon(testcluster.DataNode.Nth(dead[n]+1)).Kill(t.Context()))
	}
}

// asHadoop compares a file's bytes with those that Hadoop's own client reads, as a whole and in parts.
func (l *coded) asHadoop(t *testing.T, policy string, want []byte) {
	name := fmt.Sprintf("%s/%s/%d", l.dir, policy, len(want))
	args, sums := []string{"sums", name}, []string{fmt.Sprintf("%x", sha256.Sum256(want))}
	for range 10 {
		off := l.rand.IntN(len(want))
		n := 1 + l.rand.IntN(min(len(want)-off, 3<<20))
		args, sums = append(args, fmt.Sprintf("%s@%d+%d", name, off, n)), append(sums, fmt.Sprintf("%x", sha256.Sum256(want[off:off+n])))
	}
	if got := strings.Fields(l.java(t, "Files", args...)); !slices.Equal(got, sums) {
		t.Errorf("%s: Hadoop reads other bytes", policy)
	}
}
