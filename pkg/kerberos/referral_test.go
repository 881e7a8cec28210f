package kerberos

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jcmturner/gokrb5/v8/iana/errorcode"
	"github.com/jcmturner/gokrb5/v8/messages"

	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testcluster"
)

// referring returns the port of a KDC that answers each request with an error, and counts the requests.
func referring(t *testing.T, code int32, asked *atomic.Int32) (port string) {
	t.Helper()
	l := testcheck.Serve(t, func(nc net.Conn) {
		var size [4]byte
		io.ReadFull(nc, size[:])
		io.CopyN(io.Discard, nc, int64(binary.BigEndian.Uint32(size[:])))
		asked.Add(1)
		e := messages.NewKRBError(grantingTo(testcluster.Realm), testcluster.Realm, code, "")
		e.CRealm = testcluster.Realm
		if body, err := e.Marshal(); err == nil {
			nc.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...))
		}
	})
	_, port, _ = net.SplitHostPort(l.Addr().String())
	return port
}

// TestReferrals checks that a login that the KDC refers to another realm fails after one request, with an error that names the principal, and that a
// ticket for a service of a realm without a configured KDC fails with an error that names the realm.
func TestReferrals(t *testing.T) {
	r := startRealm(t, testcluster.Security{})
	var asked atomic.Int32
	conf := r.config(t, ":"+port(t, r), ":"+referring(t, errorcode.KDC_ERR_WRONG_REALM, &asked))
	_, err := Login(t.Context(), Options{Principal: "loader", Keytab: r.Keytab("loader"), Config: conf})
	if err == nil || !strings.Contains(err.Error(), "the KDC refers loader@BULKLOAD.TEST to another realm") || errors.Is(err, ErrNoKDC) || asked.Load() != 1 {
		t.Errorf("login: %v after %d requests", err, asked.Load())
	}
	r.admin(t, "addprinc", "-randkey", "krbtgt/OTHER.ORG")
	o := Options{Principal: "loader", Keytab: r.Keytab("loader"), Config: r.config(t, "[domain_realm]\n", "[domain_realm]\n .other.org = OTHER.ORG\n")}
	_, _, err = login(t, o).Ticket(t.Context(), "nn/host.other.org", "")
	if err == nil || !strings.Contains(err.Error(), "names no KDC of the realm OTHER.ORG") || errors.Is(err, ErrNoKDC) {
		t.Errorf("a realm without a KDC: %v", err)
	}
}
