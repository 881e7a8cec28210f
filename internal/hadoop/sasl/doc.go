// Package sasl has the client's side of the SASL mechanisms that Hadoop and HBase speak: GSSAPI with Kerberos (RFC 4752)
// and DIGEST-MD5 with the passwords of delegation and block tokens (RFC 2831), and the protection of what is sent once
// both sides know each other.
//
// A [Client] answers challenges until it is done; then its [Layer] seals and opens what goes over the connection. How
// challenges and sealed pieces are framed is the affair of each protocol.
package sasl
