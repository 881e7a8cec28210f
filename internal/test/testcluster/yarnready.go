package testcluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/jcmturner/gokrb5/v8/spnego"
)

// maxREST is the size limit of a response of a daemon's web server.
const maxREST = 1 << 20

// rest reads a JSON response of a daemon of YARN, with Kerberos as one of the users.
func (c *Cluster) rest(ctx context.Context, port int, path string, out any) error {
	web := &http.Client{Transport: newTransport()}
	do := web.Do
	if c.state.Security.Kerberos {
		who, err := c.login(Loader)
		if err != nil {
			return err
		}
		defer who.Destroy()
		do = spnego.NewClient(who, web, webID).Do
	}
	return getJSON(ctx, do, "http://"+local(port)+path, out)
}

// newTransport returns a transport for one request.
func newTransport() *http.Transport { return &http.Transport{DisableKeepAlives: true} }

// getJSON reads a JSON response of a daemon's web server.
func getJSON(ctx context.Context, do func(*http.Request) (*http.Response, error), address string, out any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	response, err := do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", address, response.Status)
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxREST))
	if err == nil {
		err = json.Unmarshal(body, out)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", address, err)
	}
	return nil
}

func (c *Cluster) probeResourceManager(ctx context.Context, _ Role) error {
	var answer struct {
		ClusterInfo struct{ State, HAState string }
	}
	if err := c.rest(ctx, c.state.Ports.YARN.Web, "/ws/v1/cluster/info", &answer); err != nil {
		return err
	}
	if got := answer.ClusterInfo; got.State != "STARTED" || got.HAState != "ACTIVE" {
		return fmt.Errorf("the resource manager is %s, %s", got.State, got.HAState)
	}
	return nil
}

// probeNodeManager asks the ResourceManager, which counts a dead NodeManager as running for a while, and then the
// NodeManager itself.
func (c *Cluster) probeNodeManager(ctx context.Context, role Role) error {
	var answer struct {
		Nodes struct {
			Node []struct{ ID, State string }
		}
	}
	if err := c.rest(ctx, c.state.Ports.YARN.Web, "/ws/v1/cluster/nodes", &answer); err != nil {
		return fmt.Errorf("the resource manager: %w", err)
	}
	port := c.state.Ports.YARN.NodeManager[role.index()]
	state := "unknown"
	for _, n := range answer.Nodes.Node {
		if n.ID == local(port.Containers) {
			state = n.State
		}
	}
	if state != "RUNNING" {
		return fmt.Errorf("the resource manager calls the node %s", state)
	}
	var own struct{ NodeInfo struct{ NodeHealthy bool } }
	if err := c.rest(ctx, port.Web, "/ws/v1/node/info", &own); err != nil {
		return err
	}
	if !own.NodeInfo.NodeHealthy {
		return errors.New("the node is unhealthy")
	}
	return nil
}

func (c *Cluster) probeHistoryServer(ctx context.Context, _ Role) error {
	var answer struct{ HistoryInfo struct{ StartedOn int64 } }
	if err := c.rest(ctx, c.state.Ports.YARN.HistoryWeb, "/ws/v1/history/info", &answer); err != nil {
		return err
	}
	if answer.HistoryInfo.StartedOn == 0 {
		return errors.New("the history server has not started")
	}
	return nil
}
