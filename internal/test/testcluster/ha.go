package testcluster

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
)

// Nameservice is the common name of the two NameNodes of a cluster with Options.HA.
const Nameservice = "bulk"

func hdfsURI(p Ports, ha bool) string {
	if ha {
		return "hdfs://" + Nameservice
	}
	return "hdfs://" + local(p.NameNode)
}

// nameNodeID returns a NameNode's name within the nameservice.
func nameNodeID(role Role) string { return fmt.Sprintf("nn%d", role.index()+1) }

// haSite configures two NameNodes that share their edit log through one JournalNode. Only Failover changes the active
// one.
func haSite(l layout, p Ports) map[string]string {
	first, second := nameNodeID(NameNode), nameNodeID(NameNode.Nth(2))
	of := func(key, id string) string { return key + "." + Nameservice + "." + id }
	return map[string]string{
		"dfs.nameservices":                                  Nameservice,
		"dfs.ha.namenodes." + Nameservice:                   first + "," + second,
		of("dfs.namenode.rpc-address", first):               local(p.NameNode),
		of("dfs.namenode.http-address", first):              local(p.NameNodeHTTP),
		of("dfs.namenode.rpc-address", second):              local(p.Standby),
		of("dfs.namenode.http-address", second):             local(p.StandbyHTTP),
		"dfs.namenode.shared.edits.dir":                     "qjournal://" + local(p.Journal) + "/" + Nameservice,
		"dfs.journalnode.edits.dir":                         filepath.Join(l.data(), "journal"),
		"dfs.journalnode.rpc-address":                       local(p.Journal),
		"dfs.journalnode.http-address":                      local(p.JournalHTTP),
		"dfs.ha.automatic-failover.enabled":                 "false",
		"dfs.ha.fencing.methods":                            "shell(/bin/true)",
		"dfs.ha.tail-edits.period":                          "1s",
		"dfs.client.failover.proxy.provider." + Nameservice: "org.apache.hadoop.hdfs.server.namenode.ha.ConfiguredFailoverProxyProvider",
	}
}

func (c *Cluster) nameNodes() []string {
	addresses := []string{local(c.state.Ports.NameNode)}
	if c.state.HA {
		addresses = append(addresses, local(c.state.Ports.Standby))
	}
	return addresses
}

func (c *Cluster) nameNodeHTTP(role Role) int {
	if role.index() > 0 {
		return c.state.Ports.StandbyHTTP
	}
	return c.state.Ports.NameNodeHTTP
}

// ActiveNameNode returns the role of the NameNode that serves clients: NameNode itself if there is only one.
func (c *Cluster) ActiveNameNode(ctx context.Context) (Role, error) {
	if !c.state.HA {
		return NameNode, nil
	}
	var all error
	for _, role := range []Role{NameNode, NameNode.Nth(2)} {
		var b struct{ State string }
		err := jmx(ctx, c.nameNodeHTTP(role), "Hadoop:service=NameNode,name=NameNodeStatus", &b)
		if err == nil && b.State == "active" {
			return role, nil
		}
		all = errors.Join(all, err)
	}
	return "", errors.Join(errors.New("no namenode is active"), all)
}

// Failover activates the other NameNode, and returns its role. The previously active one becomes the standby if it
// answers; one that was killed is a standby after its Restart. It must not be frozen: the test cluster has no
// fencing, and both would write the edit log.
func (c *Cluster) Failover(ctx context.Context, from Role) (Role, error) {
	to := NameNode
	if from == NameNode {
		to = NameNode.Nth(2)
	}
	if c.Daemon(from).Pid() != 0 {
		if err := c.haadmin(ctx, "-transitionToStandby", nameNodeID(from)); err != nil {
			return "", err
		}
	}
	return to, c.activate(ctx, to)
}

// activate is for a NameNode while the other one is standby or dead.
func (c *Cluster) activate(ctx context.Context, role Role) error {
	// Forced: otherwise the dead one is contacted first, as often as by a client.
	return c.haadmin(ctx, "-transitionToActive", "--forceactive", nameNodeID(role))
}

// Observe makes a standby NameNode an observer, which serves reads of clients that send their last seen state.
func (c *Cluster) Observe(ctx context.Context, role Role) error {
	return c.haadmin(ctx, "-transitionToObserver", nameNodeID(role))
}

// EndObserving makes an observer a standby NameNode again.
func (c *Cluster) EndObserving(ctx context.Context, role Role) error {
	return c.haadmin(ctx, "-transitionToStandby", nameNodeID(role))
}

func (c *Cluster) haadmin(ctx context.Context, args ...string) error {
	argv := c.javaCommandAs(HDFSAdmin, "org.apache.hadoop.hdfs.tools.DFSHAAdmin", args...)
	if _, err := c.spawner.output(ctx, nil, argv, c.daemonEnvironment()); err != nil {
		return fmt.Errorf("haadmin %v: %w", args, err)
	}
	return nil
}
