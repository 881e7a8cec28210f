package hbaserpc

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"bulkload/internal/test/testcheck"
)

// TestServersTextHasNoRows checks that the texts of HBase's exceptions are shown without rows, for the formats of its
// classes, and keep helpful parts.
func TestServersTextHasNoRows(t *testing.T) {
	const row = "zoë smith, 12/3: x=1"
	cell := row + "/f:q/1795594956785/Put/vlen=1/seqid=0"
	for _, c := range []struct{ text, keeps string }{
		{"Could not seek StoreFileScanner[HFileScanner for reader reader=hdfs://nn/hbase/data/test/t/ab/f/0123, compression=snappy, cacheConf=cacheDataOnRead=true, firstKey=Optional[" +
			cell + "], lastKey=Optional[" + cell + "], avgKeyLen=20, cur=" + cell + "] to key " + cell, "hdfs://nn/hbase/data/test/t/ab/f/0123, compression=snappy"},
		{"Could not iterate StoreFileScanner[HFileScanner for reader reader=hdfs://nn/f/0123, cur=" + cell + "]", "reader=hdfs://nn/f/0123"},
		{"Requested row out of range for Get on HRegion test:t,k1,1795594956785.0123456789abcdef0123456789abcdef., startKey='k1', getEndKey()='', row='" + row + "'", "Requested row"},
		{"test:t," + row + ",1795594956785.0123456789abcdef0123456789abcdef. is not online on rs1,16020,1795594956784", ",1795594956785.0123456789abcdef0123456789abcdef. is not online on rs1"},
		{"Failed to get the lock of row: " + row, "Failed to get the lock of row"},
		{"Cell " + cell + " is too large", ""},
		{"seek before " + cell, ""},
		{cell, ""},
		{"Added a key not lexically larger than previous. Current cell = " + cell + ", lastCell = " + cell, "Added a key"},
	} {
		re, ok := parseRemote(errors.New("region x: " + javaMark + "java.io.IOException:\njava.io.IOException: " + c.text + "\n\tat X.y(Z.java:1)\n"))
		if !ok {
			t.Fatalf("no exception: %s", c.text)
		}
		text := fmt.Sprintf("%v, %s", re, fmt.Errorf("scan: %w", re))
		if strings.Contains(text, "smith") || strings.Contains(text, "12/3") || !strings.Contains(text, c.keeps) || !strings.Contains(text, hidden) || !strings.HasPrefix(text, "java.io.IOException: ") {
			t.Errorf("%s\nis shown as %s", c.text, text)
		}
		said, ok := errors.AsType[*rowsSaid](re)
		if !ok || string(said.Data()) != c.text {
			t.Errorf("who may show rows gets %v of %s", said, c.text)
		}
	}
	for _, text := range []string{
		"", "Table test:t is not enabled", "Insufficient permissions (user=tina, scope=test:t, family=f:, params=[table=test:t,family=f:],action=CREATE)",
		"A snapshot of the table is already running another snapshot", "An exception was thrown: see security", "test:t,,1795594956785.0123456789abcdef0123456789abcdef. is not online on rs1,16020,1795594956784",
	} {
		if re := NewRemoteError("C", text); re.Message != text || re.Unwrap() != nil {
			t.Errorf("%q is shown as %q", text, re.Message)
		}
	}
}

func TestRemote(t *testing.T) {
	text := "region.NotServingRegionError: HBase Java exception org.apache.hadoop.hbase.NotServingRegionException:\n" +
		"org.apache.hadoop.hbase.NotServingRegionException: t,,1.x. is not online on h\n\tat X.y(Z.java:1)\n"
	re, ok := parseRemote(errors.New(text))
	if !ok || !Threw(re, "NotServingRegionException") || re.Message != "t,,1.x. is not online on h" || ReactionTo(re) != Relocate {
		t.Fatalf("%#v", re)
	}
	for class, want := range map[string]Reaction{
		"org.apache.hadoop.hbase.RegionTooBusyException": BackOff, "org.apache.hadoop.hbase.security.AccessDeniedException": GiveUp,
		"java.io.IOException": unclear, "": unclear,
	} {
		if got := ReactionTo(&RemoteError{Class: class}); got != want {
			t.Errorf("%s: %d", class, got)
		}
	}
	for message, want := range map[string]Reaction{
		`Cannot invoke "org.apache.hadoop.hbase.master.CachedClusterId.getFromCacheOrFetch()" because "this.cachedClusterId" is null`: BackOff,
		`Cannot invoke "org.apache.hadoop.hbase.regionserver.HRegion.getRegionInfo()" because "region" is null`:                       unclear,
	} {
		if got := ReactionTo(&RemoteError{Class: "java.io.IOException", Message: message}); got != want {
			t.Errorf("%s: %d", message, got)
		}
	}
	if _, ok := parseRemote(errors.New("EOF")); ok {
		t.Error("EOF is not an exception")
	}
}

// TestPassingExceptions checks for each exception of HBase, and some of Hadoop and Java, whether an idempotent call is made again after it, as
// HBase's own client does. The reaction of a load and the exit code do not depend on it.
func TestPassingExceptions(t *testing.T) {
	table, err := os.ReadFile("testdata/exceptions.txt")
	testcheck.Must(t, err)
	n := 0
	for line := range strings.Lines(string(table)) {
		want, class, _ := strings.Cut(strings.TrimSpace(line), " ")
		if want == "#" {
			continue
		}
		n++
		re := &RemoteError{Class: strings.TrimSpace(class)}
		if got := Passing(re); got != (want == "yes") {
			t.Errorf("%s: passing %t", re.Class, got)
		}
		if ReactionTo(re) == unclear && Repeatable(re) {
			t.Errorf("%s counts as repeatable", re.Class)
		}
	}
	if n < 120 {
		t.Errorf("%d exceptions", n)
	}
}

// TestClosedConnectionIsNoEnd checks that a reader of rows does not take a connection that the server closed for their end.
func TestClosedConnectionIsNoEnd(t *testing.T) {
	err := fmt.Errorf("scan: %w", &ConnectionError{Addr: "rs1:16020", Sent: true, Err: io.EOF})
	if errors.Is(err, io.EOF) || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("%v is io.EOF", err)
	}
}
