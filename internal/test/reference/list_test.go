package reference

import (
	"bytes"
	"os"
	"testing"
)

// TestMessageList checks that docs/messages.txt has the messages of the code.
func TestMessageList(t *testing.T) {
	const name = "../../../docs/messages.txt"
	want, err := MessageList("../../..")
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(name, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("docs/messages.txt is out of date: run make docs")
	}
}
