package loader

import (
	"context"
	"fmt"
	"slices"

	"bulkload/internal/hadoop/frames"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/types/known/emptypb"
)

// A Peer is a replication target of this cluster: a cluster or another program.
type Peer struct {
	ID      string
	Enabled bool
	All     bool // it takes all tables except those that it excludes; otherwise only those that it lists

	namespaces, tables selection // excluded or listed
}

// selection holds the tables of a peer, each with its families; no families means all.
type selection map[string][]string

// Fields of Replication.proto of HBase 2, which gohbase lacks.
const (
	peersDescription = 1 // ListReplicationPeersResponse.peer_desc
	peerID           = 1 // ReplicationPeerDescription.id
	peerState        = 2 // .state: ReplicationState, whose field 1 is 0 when it is enabled
	peerConfig       = 3 // .config: ReplicationPeer
	peerTables       = 5 // ReplicationPeer.table_cfs
	peerNamespaces   = 6 // .namespaces
	peerAll          = 8 // .replicate_all
	peerNoTables     = 9 // .exclude_table_cfs
	peerNoNamespaces = 10
)

// Peers lists the replication peers. It needs the right ADMIN if the cluster controls access.
func (c *Cluster) Peers(ctx context.Context) ([]Peer, error) {
	resp := &emptypb.Empty{}
	if err := c.master(ctx, "ListReplicationPeers", raw(nil), resp); err != nil {
		return nil, fmt.Errorf("list replication peers: %w", err)
	}
	return parsePeers(resp.ProtoReflect().GetUnknown())
}

func parsePeers(answer []byte) (peers []Peer, err error) {
	if !frames.Fields(answer, func(field protowire.Number, _ uint64, data []byte) {
		if field == peersDescription && data != nil {
			peers = append(peers, parsePeer(data))
		}
	}) {
		return nil, fmt.Errorf("list replication peers: the answer does not end where its fields do")
	}
	return peers, nil
}

func parsePeer(b []byte) Peer {
	id, _ := frames.Bytes(b, peerID)
	state, _ := frames.Bytes(b, peerState)
	disabled := frames.Number(state, 1)
	config, _ := frames.Bytes(b, peerConfig)
	all, said := varintField(config, peerAll)
	p := Peer{ID: string(id), Enabled: disabled == 0, All: all != 0 || !said, namespaces: selection{}, tables: selection{}}
	tables, namespaces := protowire.Number(peerTables), protowire.Number(peerNamespaces)
	if p.All {
		tables, namespaces = peerNoTables, peerNoNamespaces
	}
	frames.Fields(config, func(field protowire.Number, _ uint64, data []byte) {
		switch {
		case data == nil:
		case field == namespaces:
			p.namespaces[string(data)] = nil
		case field == tables:
			p.tables.add(data)
		}
	})
	return p
}

// add reads a TableCF: table_name = 1, families = 2.
func (s selection) add(b []byte) {
	of, _ := frames.Bytes(b, 1)
	ns, _ := frames.Bytes(of, 1)
	name, _ := frames.Bytes(of, 2)
	families := []string{}
	frames.Fields(b, func(field protowire.Number, _ uint64, data []byte) {
		if field == 2 && data != nil {
			families = append(families, string(data))
		}
	})
	s[TableName{string(ns), string(name)}.String()] = families
}

// Takes reports whether a family of a table, if it is replicated at all, goes to the peer (ReplicationPeerConfig.needToReplicate, 2.6.4).
func (p Peer) Takes(t TableName, family string) bool {
	_, inNamespace := p.namespaces[t.Namespace]
	families, named := p.tables[t.String()]
	listed := named && (len(families) == 0 || slices.Contains(families, family))
	if p.All {
		return !inNamespace && !listed
	}
	return inNamespace || listed
}
