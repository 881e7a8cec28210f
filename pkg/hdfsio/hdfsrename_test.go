package hdfsio

import (
	"bytes"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"bulkload/pkg/frames"
)

// TestRenamesNeverOverwrite: of the calls only rename2 is changed, and of that only overwriteDest.
func TestRenamesNeverOverwrite(t *testing.T) {
	body := appendField(appendField(nil, 1, []byte("/a")), 2, []byte("/b"))
	body = appendNumber(body, 3, 1)
	got := neverOverwrite(testCall("rename2", body))
	messages, ok := splitFrame(got)
	if !ok || len(messages) != 3 {
		t.Fatalf("%q is no call", got)
	}
	overwrites, names := uint64(1), ""
	frames.Fields(messages[2], func(field protowire.Number, number uint64, data []byte) {
		if field == 3 {
			overwrites = number
		}
		names += string(data)
	})
	if overwrites != 0 || names != "/a/b" {
		t.Errorf("overwriteDest %d, names %q", overwrites, names)
	}
	for _, call := range [][]byte{testCall("rename", body), testCall("delete", body), []byte("hrpc\x09\x00\x00"), nil} {
		if got := neverOverwrite(call); !bytes.Equal(got, call) {
			t.Errorf("%q became %q", call, got)
		}
	}
}
