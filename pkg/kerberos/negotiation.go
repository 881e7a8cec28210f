package kerberos

import (
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/jcmturner/gofork/encoding/asn1"
	"github.com/jcmturner/gokrb5/v8/asn1tools"
	"github.com/jcmturner/gokrb5/v8/crypto"
	"github.com/jcmturner/gokrb5/v8/gssapi"
	"github.com/jcmturner/gokrb5/v8/iana/asnAppTag"
	"github.com/jcmturner/gokrb5/v8/iana/chksumtype"
	"github.com/jcmturner/gokrb5/v8/iana/flags"
	"github.com/jcmturner/gokrb5/v8/iana/keyusage"
	"github.com/jcmturner/gokrb5/v8/iana/msgtype"
	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/types"
)

// Object identifiers in DER, with tag and length.
const (
	oidSPNEGO = "\x06\x06\x2b\x06\x01\x05\x05\x02"             // 1.3.6.1.5.5.2
	oidKRB5   = "\x06\x09\x2a\x86\x48\x86\xf7\x12\x01\x02\x02" // 1.2.840.113554.1.2.2
)

// NegTokenInit returns the first token of SPNEGO, which offers Kerberos as the only mechanism, for the first token of Kerberos that
// [Client.Initiate] returns (RFC 4178, section 4.2.1). In base64 it follows "Negotiate" in the header Authorization (RFC 4559):
//
//	[APPLICATION 0] { SPNEGO, [0] SEQUENCE { [0] SEQUENCE { krb5 }, [2] OCTET STRING token } }
func NegTokenInit(token []byte) []byte {
	mechanisms := der(0xa0, der(0x30, []byte(oidKRB5)))
	first := der(0xa2, der(0x04, token))
	init := der(0xa0, der(0x30, append(mechanisms, first...)))
	return der(0x60, append([]byte(oidSPNEGO), init...))
}

// der encodes one element: tag, length, content.
func der(tag byte, content []byte) []byte {
	return slices.Concat([]byte{tag}, asn1tools.MarshalLengthBytes(len(content)), content)
}

// Ids of a GSS-API token's content (RFC 4121, section 4.1).
const (
	apRequest = "\x01\x00"
	apReply   = "\x02\x00"
)

// negotiation is the only token with which a caller authenticates: the first of SPNEGO (RFC 4178, NegTokenInit), or one of Kerberos alone.
type negotiation struct {
	mech    asn1.ObjectIdentifier // the caller's identifier of Kerberos; nil without SPNEGO
	request []byte                // AP-REQ
}

// errNotKerberos is the error of a caller that has no ticket; usually it offers NTLM.
var errNotKerberos = errors.New("its first mechanism is not Kerberos: the caller has no ticket for this service")

func parseNegotiation(token []byte) (*negotiation, error) {
	oid, rest, err := framed(token)
	if err != nil {
		return nil, err
	}
	n := &negotiation{}
	if oid.Equal(gssapi.OIDSPNEGO.OID()) {
		// NegTokenInit ::= [0] SEQUENCE { mechTypes [0], reqFlags [1] OPTIONAL, mechToken [2] OPTIONAL, mechListMIC [3] OPTIONAL }
		var outer asn1.RawValue
		if _, err := asn1.Unmarshal(rest, &outer); err != nil || outer.Class != asn1.ClassContextSpecific || outer.Tag != 0 {
			return nil, errors.New("it is not the first token of a negotiation")
		}
		var init struct {
			MechTypes []asn1.ObjectIdentifier `asn1:"explicit,tag:0"`
			ReqFlags  asn1.BitString          `asn1:"explicit,optional,tag:1"`
			MechToken []byte                  `asn1:"explicit,optional,omitempty,tag:2"`
			MIC       asn1.RawValue           `asn1:"optional,tag:3"`
		}
		if _, err := asn1.Unmarshal(outer.Bytes, &init); err != nil {
			return nil, errors.New("it is not a token of SPNEGO")
		}
		// The token is that of the first mechanism; another one would need a second round trip.
		if len(init.MechTypes) == 0 || !isKerberos(init.MechTypes[0]) || len(init.MechToken) == 0 {
			return nil, errNotKerberos
		}
		n.mech = init.MechTypes[0]
		if oid, rest, err = framed(init.MechToken); err != nil {
			return nil, err
		}
	}
	if !isKerberos(oid) {
		return nil, errNotKerberos
	}
	if len(rest) < len(apRequest) || string(rest[:len(apRequest)]) != apRequest {
		return nil, errors.New("it has no request of Kerberos")
	}
	n.request = rest[len(apRequest):]
	return n, nil
}

// framed removes the frame of a GSS-API token (RFC 2743, section 3.1).
func framed(token []byte) (oid asn1.ObjectIdentifier, rest []byte, err error) {
	var outer asn1.RawValue
	if more, err := asn1.Unmarshal(token, &outer); err != nil || len(more) > 0 || outer.Class != asn1.ClassApplication || outer.Tag != 0 {
		if len(token) > 7 && string(token[:7]) == "NTLMSSP" {
			return nil, nil, errNotKerberos
		}
		return nil, nil, errors.New("it is not a token of GSS-API")
	}
	if rest, err = asn1.Unmarshal(outer.Bytes, &oid); err != nil {
		return nil, nil, errors.New("it is not a token of GSS-API")
	}
	return oid, rest, nil
}

// isKerberos also accepts the identifier that Windows lists first.
func isKerberos(oid asn1.ObjectIdentifier) bool {
	return oid.Equal(gssapi.OIDKRB5.OID()) || oid.Equal(gssapi.OIDMSLegacyKRB5.OID())
}

// reply returns the token to answer with: the acceptance of the caller, and this service's AP-REP if the caller requests it.
func (n *negotiation) reply(req *messages.APReq) ([]byte, error) {
	var proof []byte
	if wantsProof(req) {
		var err error
		if proof, err = prove(req); err != nil {
			return nil, err
		}
	}
	if n.mech == nil {
		return proof, nil
	}
	b, err := asn1.Marshal(struct {
		State asn1.Enumerated       `asn1:"explicit,tag:0"`
		Mech  asn1.ObjectIdentifier `asn1:"explicit,tag:1"`
		Token []byte                `asn1:"explicit,optional,omitempty,tag:2"`
	}{0, n.mech, proof}) // 0: accept-completed
	if err != nil {
		return nil, err
	}
	return asn1.Marshal(asn1.RawValue{Class: asn1.ClassContextSpecific, Tag: 1, IsCompound: true, Bytes: b})
}

// wantsProof reports whether the caller requests mutual authentication, in the request or in the checksum of GSS-API (RFC 4121, section
// 4.1.1).
func wantsProof(req *messages.APReq) bool {
	if types.IsFlagSet(&req.APOptions, flags.APOptionMutualRequired) {
		return true
	}
	sum := req.Authenticator.Cksum
	return sum.CksumType == chksumtype.GSSAPI && len(sum.Checksum) >= 24 && sum.Checksum[20]&gssapi.ContextFlagMutual != 0
}

// prove makes an AP-REP (RFC 4120, section 5.5.2), which gokrb5 cannot: it proves knowledge of the authenticator's time, and so of the
// service's key.
func prove(req *messages.APReq) ([]byte, error) {
	plain, err := asn1.Marshal(struct {
		CTime    time.Time `asn1:"generalized,explicit,tag:0"`
		Cusec    int       `asn1:"explicit,tag:1"`
		Sequence int64     `asn1:"explicit,optional,tag:3"`
	}{req.Authenticator.CTime, req.Authenticator.Cusec, 1 + rand.Int64N(1<<30)})
	if err != nil {
		return nil, err
	}
	sealed, err := crypto.GetEncryptedData(asn1tools.AddASNAppTag(plain, asnAppTag.EncAPRepPart), req.Ticket.DecryptedEncPart.Key, keyusage.AP_REP_ENCPART, 0)
	if err != nil {
		return nil, err
	}
	body, err := asn1.Marshal(messages.APRep{PVNO: 5, MsgType: msgtype.KRB_AP_REP, EncPart: sealed})
	if err != nil {
		return nil, err
	}
	return asn1tools.AddASNAppTag(append([]byte(oidKRB5+apReply), asn1tools.AddASNAppTag(body, asnAppTag.APREP)...), 0), nil
}
