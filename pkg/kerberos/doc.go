// Package kerberos authenticates a user at a Kerberos realm and to services.
//
// [Login] uses a keytab or a ticket cache. A [Client] gets tickets for services for as long as the job runs: it renews tickets, logs in
// again with a keytab, and reads a ticket cache again when another program has renewed it. A [Context] is one authenticated connection with
// a service, with the wrap tokens of RFC 4121. An [Acceptor] is the service's side: it authenticates callers.
//
// The exchange with the KDC is that of gokrb5. This package adds features of MIT's libraries: finding configuration files, names of caches,
// and errors that say what to do. No key, ticket or password appears in any error or log line.
package kerberos
