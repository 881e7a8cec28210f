package hbaserpc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
)

// TestAnswers checks challenges and refusals.
func TestAnswers(t *testing.T) {
	if got, err := readAnswer(strings.NewReader("\x00\x00\x00\x00\x00\x00\x00\x03abc")); string(got) != "abc" || err != nil {
		t.Errorf("%q %v", got, err)
	}
	for name, tt := range map[string]struct{ text, want string }{
		"a refusal":          {"\x00\x00\x00\x01\x00\x00\x00\x05class\x00\x00\x00\x04text", "the server refuses: text ("},
		"a refusal by class": {"\x00\x00\x00\x01\x00\x00\x00\x05class\x00\x00\x00\x00", "the server refuses: class ("},
		"no security":        {"\x00\x00\x00\x00\xff\xff\xff\xa8", "simple authentication"},
		"a negative size":    {"\x00\x00\x00\x00\xff\xff\xff\xff", "token of -1 bytes"},
		"a lying size":       {"\x00\x00\x00\x00\x7f\xff\xff\xff", "token of 2147483647 bytes"},
		"a lying text":       {"\x00\x00\x00\x01\x7f\xff\xff\xff", "text of 2147483647 bytes"},
		"the end":            {"", "EOF"},
		"the end of token":   {"\x00\x00\x00\x00\x00\x00\x00\x03a", "EOF"},
	} {
		got, err := readAnswer(strings.NewReader(tt.text))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %q %v", name, got, err)
		}
		if _, ok := errors.AsType[*LoginError](err); ok == strings.Contains(tt.want, "EOF") || strings.Contains(tt.want, "text of") && ok {
			if !strings.Contains(tt.want, "text of") {
				t.Errorf("%s: %T", name, err)
			}
		}
	}
}

// TestBeginning checks that the preamble that a client library writes is discarded.
func TestBeginning(t *testing.T) {
	for _, step := range []int{1, 4, 6, 100} {
		client, server := net.Pipe()
		got := make(chan []byte)
		go func() {
			all, _ := io.ReadAll(server)
			got <- all
		}()
		c := &SecureConn{Conn: client}
		for rest := []byte(preamble + bySimple + "\x00\x00\x00\x02hi"); len(rest) > 0; {
			n := min(step, len(rest))
			if m, err := c.Write(rest[:n]); m != n || err != nil {
				t.Fatal(m, err)
			}
			rest = rest[n:]
		}
		client.Close()
		if all := <-got; !bytes.Equal(all, []byte("\x00\x00\x00\x02hi")) {
			t.Errorf("steps of %d: the server gets %q", step, all)
		}
	}
	if _, err := (&SecureConn{}).Write([]byte("GET /")); err == nil {
		t.Error("something else is swallowed")
	}
}

// TestWantsKerberos distinguishes servers by their response to an invalid token.
func TestWantsKerberos(t *testing.T) {
	for answer, want := range map[string]string{
		"\x00\x00\x00\x00\xff\xff\xff\xa8":                          "false <nil>",
		"\x00\x00\x00\x01\x00\x00\x00\x05class\x00\x00\x00\x04text": "true <nil>",
		"":                                  "false EOF",
		"\x00\x00\x00\x00\x00\x00\x00\x01a": "true <nil>",
	} {
		client, server := net.Pipe()
		go func() {
			io.ReadFull(server, make([]byte, preambleLen+5))
			server.Write([]byte(answer))
			server.Close()
		}()
		got, err := wantsKerberos(t.Context(), client)
		if fmt.Sprint(got, " ", err) != want {
			t.Errorf("%q: %v %v", answer, got, err)
		}
	}
}
