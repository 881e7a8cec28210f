package hdfsio

import (
	"errors"
	"strings"
	"testing"

	"bulkload/internal/test/testcheck"
	"bulkload/pkg/setting"
)

// TestUnmet checks that a client gives up soon on a NameNode that has never accepted a connection, with an error that names
// it and the setting, and that it waits for one that was reached before as long as the options require.
func TestUnmet(t *testing.T) {
	addr := testcheck.ClosedAddress(t)
	for _, met := range []bool{false, true} {
		h, err := NewHDFS(HDFSOptions{Addresses: []string{addr}, User: "x", RetryTimeout: 1})
		if err != nil {
			t.Fatal(err)
		}
		if met {
			h.dfs.Meet()
		}
		_, err = h.Stat(t.Context(), "/a")
		_, unmet := errors.AsType[*UnmetError](err)
		want := "no answer for"
		if !met {
			want = "NameNode " + addr + " does not answer (connection refused): see --hdfs"
		}
		if said := setting.In(err, func(n setting.Name) string { return "--" + string(n) }); unmet == met || !strings.Contains(said, want) {
			t.Errorf("met %t: %q, want %q", met, said, want)
		}
		h.Close()
	}
	h, err := NewHDFS(HDFSOptions{Addresses: []string{addr}, User: "x"})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	if _, err = h.Stat(t.Context(), "/a"); err == nil { // ends, with the default of two minutes
		t.Error("no error")
	} else if _, unmet := errors.AsType[*UnmetError](err); !unmet {
		t.Error(err)
	}
}
