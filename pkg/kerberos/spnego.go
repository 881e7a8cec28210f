package kerberos

import (
	"slices"

	"github.com/jcmturner/gokrb5/v8/asn1tools"
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
