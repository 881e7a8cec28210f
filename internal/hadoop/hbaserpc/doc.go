// Package hbaserpc makes connections to HBase's masters and region servers, and calls on them. A [Client] keeps the connection to a server that
// its callers share:
//
//	c := hbaserpc.NewClient(hbaserpc.Options{User: "x", Dialer: dial, DialTimeout: 20 * time.Second, CallTimeout: time.Minute})
//	defer c.Close()
//	conn, err := c.Connect(ctx, "rs1:16020", hbaserpc.ClientService)
//	err = conn.Invoke(ctx, "Get", req, resp)
//
// No call is sent twice. One without an answer ends with its context, with the connection, or when the server has been silent for too long. Its
// error is a [RemoteError] if the server has thrown an exception, and a [ConnectionError] if the connection could not be made or broke;
// [ReactionTo], [Repeatable] and [Passing] say what may follow it.
//
// The protocol's messages are written and read by gohbase's region client, which trusts the lengths in answers and does not support security. So
// answers are checked below it, and [Secure] logs in by TLS and by SASL with Kerberos as HBaseSaslRpcClient of HBase 2.6 does, and returns a
// connection that looks to it like one without security.
package hbaserpc
