package cluster

import (
	"testing"

	"bulkload/pkg/hdfsio"
)

// TestTokenService checks the name by which region servers look up the token of a file system: with another name they find none.
func TestTokenService(t *testing.T) {
	one := hdfsio.Location{Scheme: "hdfs", Authority: "localhost:8020", Addresses: []string{"LOCALHOST:8020"}}
	two := hdfsio.Location{Scheme: "hdfs", Authority: "nameservice", Addresses: []string{"a:8020", "b:8020"}}
	for _, c := range []struct {
		l    hdfsio.Location
		byIP bool
		want string
	}{
		{one, true, "127.0.0.1:8020"},
		{one, false, "localhost:8020"},
		{two, true, "ha-hdfs:nameservice"},
		{two, false, "ha-hdfs:nameservice"},
	} {
		if got, err := tokenService(t.Context(), c.l, c.byIP); got != c.want || err != nil {
			t.Errorf("%s, %v: %s %v", c.l, c.byIP, got, err)
		}
	}
}
