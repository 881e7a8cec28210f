package rowkey

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testcluster"
)

// hbase runs testdata/KeyText.java, which uses HBase's Bytes, on lines.
func hbase(t *testing.T, lines []string) []string {
	t.Helper()
	if testing.Short() {
		t.Skip("runs a JVM")
	}
	lib, err := testcluster.Jars(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	out := testcheck.Java(t, strings.NewReader(strings.Join(lines, "\n")+"\n"), "-cp", filepath.Join(lib, "*"), "testdata/KeyText.java")
	answers := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	if len(answers) != len(lines) {
		t.Fatalf("%d answers to %d lines", len(answers), len(lines))
	}
	return answers
}

// everyKey returns each byte and each pair of bytes.
func everyKey() (keys [][]byte) {
	for a := range 256 {
		keys = append(keys, []byte{byte(a)})
		for b := range 256 {
			keys = append(keys, []byte{byte(a), byte(b)})
		}
	}
	return keys
}

// TestTextIsHBases prints every byte and every pair of bytes as HBase does.
func TestTextIsHBases(t *testing.T) {
	keys := everyKey()
	lines := make([]string, len(keys))
	for i, k := range keys {
		lines[i] = fmt.Sprintf("%x", k)
	}
	for i, want := range hbase(t, lines) {
		if got := String(keys[i]); got != want {
			t.Errorf("% x prints as %s, HBase prints %s", keys[i], got, want)
		}
	}
}

// TestTextIsReadAsHBaseReadsIt checks that every accepted text gives HBase's bytes, and that every printed text is
// accepted.
func TestTextIsReadAsHBaseReadsIt(t *testing.T) {
	var texts []string
	for _, k := range everyKey() {
		texts = append(texts, String(k))
		// An escape with every pair of characters after it, and a backslash before every character.
		if b := string(k); !strings.ContainsAny(b, "\r\n") && k[0] < 0x80 && k[len(k)-1] < 0x80 {
			texts = append(texts, `a\x`+b+"zz", `\`+b+"zz", b)
		}
	}
	lines := make([]string, len(texts))
	for i, s := range texts {
		lines[i] = ":" + s
	}
	refused := 0
	for i, want := range hbase(t, lines) {
		got, err := Parse(texts[i])
		if err != nil {
			refused++
			continue
		}
		if fmt.Sprintf("%x", got) != want {
			t.Errorf("%q is read as % x, by HBase as %s", texts[i], got, want)
		}
	}
	if refused == 0 || refused == len(texts) {
		t.Errorf("%d of %d texts are refused", refused, len(texts))
	}
}

func TestEveryKeyIsReadBack(t *testing.T) {
	for _, k := range everyKey() {
		if got, err := Parse(String(k)); err != nil || !bytes.Equal(got, k) {
			t.Fatalf("% x prints as %s, which reads as % x, %v", k, String(k), got, err)
		}
	}
}

// TestEscapesThatHBaseTakesForTextAreRefused checks that the errors for such escapes name the right escape.
func TestEscapesThatHBaseTakesForTextAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		`\xaa`: `\xAA`, `\xAa`: `\xAA`, `a\xfe`: `\xFE`, `\,`: `\x2C`, `\\`: `\x5C`, `\`: `\x5C`, `\x4`: `\xNN`, `\xG0`: `\xNN`, `\n`: `\xNN`,
	} {
		if k, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s reads as %q, %v: the error should name %s", text, k, err, want)
		}
	}
}

// FuzzParse checks that no text causes a panic, and that a printed key is read back.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"", `a\x00\xFF`, `\xaa`, `\,`, `\`, "ä"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		k, err := Parse(text)
		if err != nil {
			return
		}
		if again, err := Parse(String(k)); err != nil || !bytes.Equal(again, k) {
			t.Fatalf("%q gives %q, printed %s, read %q, %v", text, k, String(k), again, err)
		}
	})
}
