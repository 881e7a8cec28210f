package streaming_test

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/internal/hadoop/streaming"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testcluster"
)

// splits are difficult keys. The empty key is not among them, since only the first reduce begins
// with it.
var splits = [][]byte{{0}, {0, 0}, {1}, []byte("a"), []byte("a\x00"), []byte("a\xff\xff"), {0x80}, {0xff}, {0xff, 0xff, 0, 0}}

func TestPartitionsGolden(t *testing.T) {
	var got bytes.Buffer
	if err := streaming.WritePartitions(&got, [][]byte{[]byte("b"), {0xff, 0}}); err != nil {
		t.Fatal(err)
	}
	const want = "53455106" +
		"226f72672e6170616368652e6861646f6f702e696f2e42797465735772697461626c65" +
		"216f72672e6170616368652e6861646f6f702e696f2e4e756c6c5772697461626c65" +
		"0000" + "00000000" + "62756c6b6c6f61642d73706c69742d31" +
		"00000005" + "00000005" + "00000001" + "62" +
		"00000006" + "00000006" + "00000002" + "ff00"
	if hex.EncodeToString(got.Bytes()) != want {
		t.Errorf("%x", got.Bytes())
	}
}

func TestPartitionsRefused(t *testing.T) {
	for name, keys := range map[string][][]byte{
		"equal":    {[]byte("a"), []byte("a")},
		"falling":  {[]byte("b"), []byte("a")},
		"unsigned": {{0xff}, {0x7f}},
		"too long": {make([]byte, streaming.MaxSplitKey+1)},
	} {
		var out bytes.Buffer
		if err := streaming.WritePartitions(&out, keys); err == nil || out.Len() > 0 {
			t.Errorf("%s: %v, %d bytes written", name, err, out.Len())
		}
	}
}

// TestPartitionsByHadoop reads the keys with Hadoop's own SequenceFile.Reader, through "fs -text".
func TestPartitionsByHadoop(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a JVM, which -short leaves out")
	}
	classPath, err := testcluster.JudgeClassPath(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	conf := t.TempDir()
	if err := os.WriteFile(filepath.Join(conf, "core-site.xml"), []byte("<configuration/>"), 0o644); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(conf, "splits")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := streaming.WritePartitions(f, splits); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	out := testcheck.Java(t, nil, "-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", conf+":"+classPath,
		"org.apache.hadoop.fs.FsShell", "-text", "file://"+path)
	var want strings.Builder
	for _, key := range splits {
		for i, b := range key {
			if i > 0 {
				want.WriteByte(' ')
			}
			fmt.Fprintf(&want, "%02x", b)
		}
		want.WriteString("\t(null)\n")
	}
	if string(out) != want.String() {
		t.Errorf("Hadoop reads\n%s, not\n%s", out, want.String())
	}
}
