// Package sasl implements the client side of the SASL mechanisms that Hadoop and HBase use: GSSAPI with Kerberos (RFC
// 4752) and DIGEST-MD5 with the passwords of delegation and block tokens (RFC 2831), and the protection of data after
// authentication.
//
// A [Client] answers challenges until it is done; then its [Layer] seals and opens the data of the connection. Each
// protocol defines the framing of challenges and sealed pieces.
package sasl
