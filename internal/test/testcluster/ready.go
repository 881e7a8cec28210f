package testcluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"bulkload/internal/hadoop/frames"

	"github.com/tsuna/gohbase/pb"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"
)

func (c *Cluster) probeJournalNode(ctx context.Context, _ Role) error {
	var b struct{ NamenodeClusterID string }
	return jmx(ctx, c.state.Ports.JournalHTTP, "Hadoop:service=JournalNode,name=JournalNodeInfo", &b)
}

func (c *Cluster) probeNameNode(ctx context.Context, role Role) error {
	var b struct{ FSState string }
	if err := jmx(ctx, c.nameNodeHTTP(role), "Hadoop:service=NameNode,name=FSNamesystemState", &b); err != nil {
		return err
	}
	if b.FSState != "Operational" {
		return fmt.Errorf("hdfs is in state %q", b.FSState)
	}
	return nil
}

// probeDataNode asks the DataNode itself, since the NameNode counts a DataNode as alive for 14 s after its death, and
// then the NameNode, for the number of live DataNodes whose space it knows. A DataNode is live from its registration
// on, but gets no blocks before its first heartbeat, which reports its space.
func (c *Cluster) probeDataNode(ctx context.Context, role Role) error {
	var own struct{ BPServiceActorInfo string }
	if err := jmx(ctx, c.state.Ports.DataNode[role.index()].HTTP, "Hadoop:service=DataNode,name=DataNodeInfo", &own); err != nil {
		return err
	}
	var actors []struct{ ActorState string }
	if err := json.Unmarshal([]byte(own.BPServiceActorInfo), &actors); err != nil {
		return fmt.Errorf("state of %s: %w", role, err)
	}
	// One for each NameNode; of two one may be down.
	if !slices.ContainsFunc(actors, func(a struct{ ActorState string }) bool { return a.ActorState == "RUNNING" }) {
		return errors.New("not yet registered with the namenode")
	}
	active, err := c.ActiveNameNode(ctx)
	if err != nil {
		return err
	}
	var b struct{ LiveNodes string }
	if err := jmx(ctx, c.nameNodeHTTP(active), "Hadoop:service=NameNode,name=NameNodeInfo", &b); err != nil {
		return err
	}
	var nodes map[string]struct{ Capacity int64 }
	if err := json.Unmarshal([]byte(b.LiveNodes), &nodes); err != nil {
		return fmt.Errorf("live datanodes of %s: %w", active, err)
	}
	live := 0
	for _, node := range nodes {
		if node.Capacity > 0 {
			live++
		}
	}
	if want := c.runningOf(DataNode); live < want {
		return fmt.Errorf("%d of %d datanodes live", live, want)
	}
	return nil
}

func (c *Cluster) probeZooKeeper(ctx context.Context, _ Role) error {
	answer, err := c.askZooKeeper(ctx, "srvr")
	if err != nil {
		return err
	}
	if !strings.Contains(answer, "Mode:") {
		return fmt.Errorf("zookeeper answers %q", firstLine(answer))
	}
	return nil
}

// probeMaster requests the namespaces, which HMaster.getNamespaces returns only when the master is initialised:
// hbase:meta and hbase:namespace are open then. (HMaster.listTableNames answers earlier.)
func (c *Cluster) probeMaster(ctx context.Context, _ Role) error {
	// The session first: that is the cheapest request for daemons that are busy starting.
	if err := c.probeSession(ctx, "/hbase/master"); err != nil {
		return err
	}
	if c.state.Security.secured() {
		_, err := c.askHBase(ctx)
		return err
	}
	return call(ctx, c.state.Ports.Master, "MasterService", "ListNamespaceDescriptors", &emptypb.Empty{}, &emptypb.Empty{})
}

func (c *Cluster) probeRegionServer(ctx context.Context, role Role) error {
	var s hbaseState
	var err error
	if c.state.Security.secured() {
		if err := c.probeSession(ctx, "/hbase/master"); err != nil {
			return fmt.Errorf("the master: %w", err)
		}
		s, err = c.askHBase(ctx)
	} else {
		// A master that is not initialised answers the following call with a NullPointerException and a long log.
		if err := c.probeMaster(ctx, Master); err != nil {
			return fmt.Errorf("the master: %w", err)
		}
		s, err = c.masterState(ctx)
	}
	if err != nil {
		return err
	}
	c.mu.Lock()
	started := c.state.Daemons[role].StartedMS
	c.mu.Unlock()
	port := c.state.Ports.RegionServer[role.index()]
	own := slices.IndexFunc(s.live, func(s serverName) bool { return s.port == port && s.startCode >= started })
	if own < 0 {
		return errors.New("not yet reported to the master")
	}
	if err := c.probeSession(ctx, "/hbase/rs/"+s.live[own].String()); err != nil {
		return err
	}
	if want := c.runningOf(RegionServer); len(s.live) != want {
		return fmt.Errorf("the master counts %d live region servers, %d run", len(s.live), want)
	}
	if s.crashes > 0 {
		return fmt.Errorf("%d server crash procedures run", s.crashes)
	}
	if c.state.Security.secured() {
		return nil // The client has read hbase:meta.
	}
	return c.probeMeta(ctx)
}

// masterState asks the master, which must be initialised.
func (c *Cluster) masterState(ctx context.Context) (hbaseState, error) {
	var s hbaseState
	var status pb.GetClusterStatusResponse
	if err := call(ctx, c.state.Ports.Master, "MasterService", "GetClusterStatus", &pb.GetClusterStatusRequest{}, &status); err != nil {
		return s, err
	}
	for _, live := range status.GetClusterStatus().GetLiveServers() {
		name := live.GetServer()
		s.live = append(s.live, serverName{name.GetHostName(), int(name.GetPort()), int64(name.GetStartCode())})
	}
	var err error
	s.crashes, err = c.crashProcedures(ctx)
	return s, err
}

// crashProcedures returns the number of region server deaths that the master is still processing. It parses the
// messages field by field, since gohbase's messages are from HBase 1: GetProceduresResponse has the procedures in
// field 1, Procedure has class_name in field 1 and state in field 6, where ROLLEDBACK is 5 and SUCCESS is 6
// (Master.proto and Procedure.proto of HBase 2.6.4).
func (c *Cluster) crashProcedures(ctx context.Context) (int, error) {
	var response emptypb.Empty
	if err := call(ctx, c.state.Ports.Master, "MasterService", "GetProcedures", &emptypb.Empty{}, &response); err != nil {
		return 0, err
	}
	count, sound := 0, true
	each := func(message []byte, visit func(field protowire.Number, number uint64, data []byte)) {
		sound = frames.Fields(message, visit) && sound
	}
	each(response.ProtoReflect().GetUnknown(), func(field protowire.Number, _ uint64, procedure []byte) {
		if field != 1 {
			return
		}
		var class string
		var state uint64
		each(procedure, func(field protowire.Number, number uint64, data []byte) {
			switch field {
			case 1:
				class = string(data)
			case 6:
				state = number
			}
		})
		if strings.HasSuffix(class, ".ServerCrashProcedure") && state != 5 && state != 6 {
			count++
		}
	})
	if !sound {
		return 0, errors.New("answer to GetProcedures: a field is damaged")
	}
	return count, nil
}

// probeMeta reads from hbase:meta on the region servers; one must have it open.
func (c *Cluster) probeMeta(ctx context.Context) error {
	request := &pb.GetRequest{
		Region: &pb.RegionSpecifier{Type: pb.RegionSpecifier_REGION_NAME.Enum(), Value: []byte("hbase:meta,,1")},
		Get:    &pb.Get{Row: []byte("hbase:namespace"), ExistenceOnly: proto.Bool(true)},
	}
	var all error
	for _, port := range c.state.Ports.RegionServer {
		err := call(ctx, port, "ClientService", "Get", request, &pb.GetResponse{})
		if err == nil {
			return nil
		}
		all = errors.Join(all, err)
	}
	return fmt.Errorf("hbase:meta: %w", all)
}

// jmx reads one bean from a Hadoop daemon's /jmx into out.
func jmx(ctx context.Context, port int, bean string, out any) error {
	address := "http://" + local(port) + "/jmx?" + url.Values{"qry": {bean}}.Encode()
	var answer struct{ Beans []json.RawMessage }
	if err := getJSON(ctx, newTransport().RoundTrip, address, &answer); err != nil {
		return err
	}
	if len(answer.Beans) == 0 {
		return fmt.Errorf("%s: no such bean yet", address)
	}
	return json.Unmarshal(answer.Beans[0], out)
}
