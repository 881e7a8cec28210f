package kerberos

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"bulkload/internal/test/testcluster"
)

// TestWriteCache checks that a login with a keytab can be written as a ticket cache, with which MIT's programs and this
// package get tickets.
func TestWriteCache(t *testing.T) {
	r := startRealm(t, testcluster.Security{})
	conf := r.config(t)
	c := login(t, Options{Config: conf, Principal: "loader", Keytab: r.Keytab("loader")})
	var b bytes.Buffer
	if err := c.WriteCache(&b); err != nil {
		t.Fatal(err)
	}
	cache := filepath.Join(r.dir, "written")
	if err := os.WriteFile(cache, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := r.Kerberos(t.Context(), []string{"KRB5CCNAME=FILE:" + cache}, "kvno", hdfsService); err != nil {
		t.Errorf("MIT's kvno: %v: %s", err, out)
	}
	again := login(t, Options{Config: conf, Cache: cache})
	if again.Principal() != c.Principal() {
		t.Errorf("the cache is of %s", again.Principal())
	}
	if _, _, err := again.Ticket(t.Context(), "hbase/localhost", ""); err != nil {
		t.Error(err)
	}
	c.Close()
	if err := c.WriteCache(&b); err == nil {
		t.Error("a closed client has a cache")
	}
}
