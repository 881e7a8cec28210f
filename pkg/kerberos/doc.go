// Package kerberos logs a user in at a Kerberos realm and proves to services who it is.
//
// [Login] takes a keytab or a ticket cache. A [Client] gets tickets of services, as long as the job runs: tickets are
// renewed, a keytab logs in again, a ticket cache is read again when another program has renewed it. A [Context] is one
// proven conversation with a service, with the sealing of RFC 4121. An [Acceptor] is a service's own side: callers prove to it who they are.
//
// The exchange with the KDC is that of gokrb5. This package has what MIT's libraries do in addition: configuration files as
// they are found, names of caches, and errors that say what to do. No key, ticket or password is in any error or log line.
package kerberos
