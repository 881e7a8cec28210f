package hadooprpc

import (
	"strings"
	"testing"

	"bulkload/internal/hadoop/frames"
	"bulkload/pkg/kerberos"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"
)

// TestIssued checks that a response with a token gives it, and that a response without one, or one that is cut anywhere, is an error.
func TestIssued(t *testing.T) {
	want := &kerberos.Token{Identifier: []byte("id"), Password: []byte("secret"), Kind: "HDFS_DELEGATION_TOKEN", Service: "ha-hdfs:nn"}
	token := appendToken(nil, want)
	got, err := issued(frames.AppendBytes(nil, 1, token))
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v: %s", err, diff)
	}
	if _, err := issued(nil); err == nil || !strings.Contains(err.Error(), "gives none") {
		t.Errorf("no token: %v", err)
	}
	whole, fields := map[int]bool{}, []byte(nil) // lengths at which a field ends
	for i, text := range []string{string(want.Identifier), string(want.Password), want.Kind} {
		fields = frames.AppendBytes(fields, protowire.Number(i+1), text)
		whole[len(fields)] = true
	}
	for n := range token {
		if _, err := issued(frames.AppendBytes(nil, 1, token[:n])); err == nil && !whole[n] {
			t.Errorf("the first %d bytes of %d are a token", n, len(token))
		}
	}
	for n, response := 1, frames.AppendBytes(nil, 1, token); n < len(response); n++ {
		if _, err := issued(response[:n]); err == nil {
			t.Errorf("the first %d bytes of %d are a response", n, len(response))
		}
	}
}
