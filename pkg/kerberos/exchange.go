package kerberos

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jcmturner/gokrb5/v8/client"
	"github.com/jcmturner/gokrb5/v8/iana/nametype"
	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/types"
)

// exchange requests a ticket from the KDC of a service's realm.
func (s *state) exchange(a asked) (*grant, error) {
	_, host, ok := strings.Cut(a.service, "/")
	if !ok || host == "" {
		return nil, fmt.Errorf("%s names no host", a.service)
	}
	realm, tgt := a.realm, s.tgt
	if realm == "" {
		realm = s.krb.Config.ResolveRealm(host)
	}
	realm = cmp.Or(realm, s.realm)
	if realm != s.realm {
		var err error
		if tgt, err = s.request(grantingTo(realm), s.realm, tgt, false); err != nil {
			return nil, fmt.Errorf("from realm %s to %s: %w", s.realm, realm, err)
		}
	}
	return s.request(types.NewPrincipalName(nametype.KRB_NT_PRINCIPAL, a.service), realm, tgt, false)
}

// request requests a ticket at the KDC of a realm with a ticket-granting ticket, or that ticket's renewal.
func (s *state) request(service types.PrincipalName, realm string, tgt *grant, renewal bool) (g *grant, err error) {
	defer guard(&err)
	_, rep, err := s.krb.TGSREQGenerateAndExchange(service, realm, tgt.ticket, tgt.key, renewal)
	if err != nil {
		return nil, err
	}
	return granted(rep.Ticket, rep.DecryptedEncPart), nil
}

// requestFirst requests a ticket-granting ticket with a keytab.
func requestFirst(krb *client.Client, realm string, request messages.ASReq) (g *grant, err error) {
	defer guard(&err)
	// The library answers a referral to another realm by repeating the same request, which can only fail: no referral is followed.
	rep, err := krb.ASExchange(realm, request, maxReferrals+1)
	if err != nil {
		return nil, err
	}
	return granted(rep.Ticket, rep.DecryptedEncPart), nil
}

// maxReferrals is the number of referrals that the library follows.
const maxReferrals = 5

func granted(t messages.Ticket, p messages.EncKDCRepPart) *grant {
	return &grant{ticket: t, key: p.Key, since: time.Now(), end: p.EndTime, till: p.RenewTill}
}

// errDamaged reports an answer that cannot be read. Another one may be whole.
var errDamaged = explained(ErrNoKDC, "the answer of a KDC is damaged")

// guard is deferred around an exchange of gokrb5, which trusts lengths in answers.
func guard(err *error) {
	if recover() != nil {
		*err = errDamaged
	}
}

// damaged reports whether an exchange failed because its answer cannot be read.
func damaged(err error) bool {
	return errors.Is(err, errDamaged) || strings.Contains(err.Error(), "failed to process the ")
}
