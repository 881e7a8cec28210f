// Package registry finds the servers of an HBase cluster: the one that holds hbase:meta and the active master, and the cluster's id. It asks ZooKeeper, or
// the RPC registry of masters (since HBase 2.3) and region servers (since 2.5), as HBase's ZKConnectionRegistry and RpcConnectionRegistry do.
//
//	r := registry.New(client, registry.Options{Quorum: "zk1:2181", Root: "/hbase", DialTimeout: time.Minute, Timeout: time.Minute, Log: log})
//	places, err := r.Master(ctx)
//	conn, err := client.Connect(ctx, places.Master, hbaserpc.MasterService)
//	// after a failed call:
//	r.Forget(places) // so that the next Master asks again
package registry
