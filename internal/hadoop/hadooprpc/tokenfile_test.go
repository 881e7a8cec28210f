package hadooprpc

import (
	"bytes"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// container is the token file that a NodeManager of Hadoop 3.4.3 gave a map task of a finished job.
const container = "" +
	"484454530001084a6f62546f6b656e17166a6f625f313739353337303836353332335f303030321498e1178b66160d31" +
	"b8cdcdd7369b4c0358cbf1b60d6d61707265647563652e6a6f62166a6f625f313739353337303836353332335f303030" +
	"3201154d617052656475636553687566666c65546f6b656e08348e8ea3aec8c510"

func unhex(t testing.TB, text string) []byte {
	t.Helper()
	data, err := hex.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestReadTokens(t *testing.T) {
	path := filepath.Join(t.TempDir(), "container_tokens")
	if err := os.WriteFile(path, unhex(t, container), 0o600); err != nil {
		t.Fatal(err)
	}
	tokens, err := ReadTokens(path)
	if err != nil || len(tokens) != 1 {
		t.Fatalf("%d tokens, %v", len(tokens), err)
	}
	got := tokens[0]
	if got.Kind != "mapreduce.job" || got.Service != "job_1795370865323_0002" || len(got.Password) != 20 || string(got.Identifier) != "\x16job_1795370865323_0002" {
		t.Errorf("kind %s, service %s, identifier %q", got.Kind, got.Service, got.Identifier)
	}
	if _, err := ReadTokens(path + "x"); err == nil {
		t.Error("no file, no error")
	}
}

// A length above 127 takes more than one byte: 8f is followed by one byte, 8e by two.
func TestReadLongTokens(t *testing.T) {
	long := strings.Repeat("i", 200)
	data := "HDTS\x00\x02" +
		"\x00\x8f\xc8" + long + "\x8e\x01\x00" + strings.Repeat("p", 256) + "\x15HDFS_DELEGATION_TOKEN\x0cha-hdfs:bulk" +
		"\x01a\x00\x00\x00\x00"
	tokens, _, err := parseTokens([]byte(data))
	if err != nil || len(tokens) != 2 {
		t.Fatalf("%d tokens, %v", len(tokens), err)
	}
	if got := tokens[0]; string(got.Identifier) != long || len(got.Password) != 256 || got.Kind != "HDFS_DELEGATION_TOKEN" || got.Service != "ha-hdfs:bulk" {
		t.Errorf("kind %s, service %s, %d bytes", got.Kind, got.Service, len(got.Identifier))
	}
	// Writing the token gives the bytes that were read; an alias precedes it.
	if written := append([]byte("HDTS\x00\x02\x00"), AppendWritable(nil, tokens[0])...); !bytes.Equal(AppendWritable(append(written, 1, 'a'), tokens[1]), []byte(data)) {
		t.Error("tokens are written as other bytes than they were read from")
	}
	// A file cut anywhere is incomplete.
	for n := range len(data) {
		if tokens, _, err := parseTokens([]byte(data[:n])); err == nil {
			t.Errorf("cut at %d: %d tokens", n, len(tokens))
		}
	}
	for name, bad := range map[string]string{
		"protobuf": "HDTS\x01\x00", "another version": "HDTS\x07\x00", "a negative length": "HDTS\x00\x01\xff", "a huge one": "HDTS\x00\x01\x8c\x7f\xff\xff\xff",
		"a long one": "HDTS\x00\x88\x7f\xff\xff\xff\xff\xff\xff\xff", "text": "# tokens\n", "many": "HDTS\x00\x7f",
	} {
		if tokens, _, err := parseTokens([]byte(bad)); err == nil {
			t.Errorf("%s: %d tokens", name, len(tokens))
		}
	}
	if _, _, err := parseTokens(bytes.Repeat([]byte{0}, maxTokenFile+1)); err == nil {
		t.Error("a file above the limit is read")
	}
}

func FuzzTokens(f *testing.F) {
	f.Add(unhex(f, container))
	f.Add([]byte("HDTS\x00\x02\x01a\x00\x00\x00\x00\x01a\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		tokens, _, err := parseTokens(data)
		size := 0
		for _, k := range tokens {
			size += len(k.Identifier) + len(k.Password) + len(k.Kind) + len(k.Service)
		}
		if size > len(data) || err != nil && tokens != nil {
			t.Errorf("%d bytes of %d, %v", size, len(data), err)
		}
	})
}

// TestSecrets reads secrets from a file without tokens and with one, and checks that incomplete ones are refused.
func TestSecrets(t *testing.T) {
	long := bytes.Repeat([]byte{0, 0xff}, 300)
	alone := AppendSecrets(nil, map[string][]byte{"b": long, "a": []byte("x")})
	if want := "HDTS\x00\x00\x02\x01a\x01x\x01b\x8e\x02\x58" + string(long); string(alone) != want {
		t.Errorf("%q", alone)
	}
	behind := unhex(t, container)
	behind[len(behind)-32] = 2 // secrets: the file's own, and one more
	behind = append(behind, "\x01b\x8e\x02\x58"+string(long)...)
	file := filepath.Join(t.TempDir(), "tokens")
	for name, data := range map[string][]byte{"alone": alone, "after a token": behind} {
		for n := range len(data) + 1 {
			if n > 5 && n < len(data)-3 && n%97 > 0 {
				continue
			}
			if err := os.WriteFile(file, data[:n], 0o600); err != nil {
				t.Fatal(err)
			}
			got, err := ReadSecret(file, "b")
			if (err == nil) != (n == len(data)) || err == nil && !bytes.Equal(got, long) {
				t.Errorf("%s, %d of %d bytes: %d bytes, %v", name, n, len(data), len(got), err)
			}
		}
		if got, err := ReadSecret(file, "c"); got != nil || err != nil {
			t.Errorf("%s has c: %q, %v", name, got, err)
		}
	}
}
