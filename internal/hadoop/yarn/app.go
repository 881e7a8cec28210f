package yarn

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"bulkload/internal/hadoop/frames"
	"bulkload/internal/hadoop/hadooprpc"
	"bulkload/pkg/setting"
)

// Application is the ResourceManager's description of an application. With ACLs enabled, most fields of another user's
// application are zero.
type Application struct {
	ID          string
	Name        string
	User        string
	Queue       string
	Tags        []string `json:"-"`
	State       State
	Final       Final  `json:"finalStatus"`
	Diagnostics string // why it failed or waits; may have several lines
	// MemorySeconds is MiB × seconds of all containers so far.
	MemorySeconds int64
}

// State is the state of an application in YARN: YarnApplicationState.
type State string

// The states that callers handle. Before Running there are NEW, NEW_SAVING, SUBMITTED and ACCEPTED.
const (
	Running   State = "RUNNING"
	Finished  State = "FINISHED" // see Final for the result
	FailedApp State = "FAILED"   // without a report by the application
	KilledApp State = "KILLED"
)

// Ended reports whether the application has ended, so that none of its containers will run any more.
func (s State) Ended() bool { return s == Finished || s == FailedApp || s == KilledApp }

// Final is the result that an application reports: FinalApplicationStatus.
type Final string

// Results of applications that have ended. Before, it is UNDEFINED.
const (
	Succeeded Final = "SUCCEEDED"
	Failed    Final = "FAILED"
	Killed    Final = "KILLED"
)

// Succeeded reports whether the application has ended successfully.
func (a Application) Succeeded() bool { return a.State == Finished && a.Final == Succeeded }

// wireApp is ClusterApp of the ResourceManager's REST API.
type wireApp struct {
	Application
	ApplicationTags string
}

func (w wireApp) application() Application {
	w.Tags, w.Diagnostics = setting.List(w.ApplicationTags), strings.TrimSpace(w.Diagnostics)
	return w.Application
}

var applicationID = regexp.MustCompile(`^application_([0-9]{1,19}_[0-9]{1,10})$`)

// tagText matches the tags by which an application can be found: YARN converts tags to lower case, requires ASCII and at
// most 100 characters (ApplicationSubmissionContextPBImpl), and separates them by commas.
var tagText = regexp.MustCompile(`^[a-z0-9._-]{1,100}$`)

// fewer excludes the largest part of a response, which is not used. Every ResourceManager that supports the parameter
// knows this value. A ResourceManager refuses a request with an unknown value, and one before 3.0 ignores the parameter.
const fewer = "resourceRequests"

// Application returns an application by its id. The error is ErrUnknown if the ResourceManager has forgotten it.
func (c *Client) Application(ctx context.Context, id string) (Application, error) {
	if !applicationID.MatchString(id) {
		return Application{}, fmt.Errorf("%q is not an application id", id)
	}
	var out struct{ App wireApp }
	a, err := c.get(ctx, "/ws/v1/cluster/apps/"+id, url.Values{"deSelects": {fewer}}, &out)
	if err != nil {
		return Application{}, err
	}
	if out.App.ID != id {
		return Application{}, &Error{URL: a.url, Status: a.status, Why: "the answer is of another application", Err: ErrUnreachable}
	}
	return out.App.application(), nil
}

// Forgotten reports whether the active ResourceManager does not know an application since it was started after the application had its id. One that
// still recovers applications is not active.
func (c *Client) Forgotten(ctx context.Context, id string) (bool, error) {
	m := applicationID.FindStringSubmatch(id)
	if m == nil {
		return false, fmt.Errorf("%q is not an application id", id)
	}
	started, err := c.startedOn(ctx)
	if err != nil {
		return false, err
	}
	given, _, _ := strings.Cut(m[1], "_")
	if began, err := strconv.ParseInt(given, 10, 64); err != nil || began >= started {
		return false, err
	}
	if _, err = c.Application(ctx, id); errors.Is(err, ErrUnknown) { // also now that it is active
		return true, nil
	}
	return false, err
}

// startedOn returns when the active ResourceManager was started, in milliseconds: the first number of the ids that it gives. The error is ErrUnreachable if
// none says that it is active.
func (c *Client) startedOn(ctx context.Context) (int64, error) {
	var out struct {
		ClusterInfo struct {
			StartedOn int64
			HAState   string
		}
	}
	a, err := c.get(ctx, "/ws/v1/cluster/info", nil, &out)
	if err == nil && (out.ClusterInfo.StartedOn == 0 || out.ClusterInfo.HAState != "ACTIVE") {
		err = &Error{URL: a.url, Status: a.status, Why: "the answer is not of an active ResourceManager", Err: ErrUnreachable}
	}
	return out.ClusterInfo.StartedOn, err
}

// AllByTag is [Client.ByTag] for callers to whom no application is an answer: it is that of an active ResourceManager, which has recovered its
// applications.
func (c *Client) AllByTag(ctx context.Context, tag string) ([]Application, error) {
	all, err := c.ByTag(ctx, tag)
	if err != nil || len(all) > 0 {
		return all, err
	}
	if _, err := c.startedOn(ctx); err != nil {
		return nil, err
	}
	return c.ByTag(ctx, tag) // also now that it is active
}

// ByTag returns the applications with a tag, sorted by id; no match is not an error. Applications that the
// ResourceManager has forgotten are missing.
func (c *Client) ByTag(ctx context.Context, tag string) ([]Application, error) {
	if !tagText.MatchString(tag) {
		return nil, fmt.Errorf("%q cannot be a tag of an application: lower-case letters, digits, . _ and -, 100 at most", tag)
	}
	var out struct{ Apps *struct{ App list[wireApp] } }
	a, err := c.get(ctx, "/ws/v1/cluster/apps", url.Values{"applicationTags": {tag}, "deSelects": {fewer}}, &out)
	if err != nil {
		return nil, err
	}
	if out.Apps == nil {
		return nil, a.none("apps", "applications")
	}
	var found []Application
	for _, w := range out.Apps.App {
		if app := w.application(); slices.Contains(app.Tags, tag) {
			found = append(found, app)
		}
	}
	slices.SortFunc(found, func(a, b Application) int {
		return cmp.Or(cmp.Compare(len(a.ID), len(b.ID)), cmp.Compare(a.ID, b.ID))
	})
	return found, nil
}

// list is an array, or a single element without an array, as some versions write it.
type list[T any] []T

func (l *list[T]) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '{' {
		var one T
		if err := json.Unmarshal(data, &one); err != nil {
			return err
		}
		*l = list[T]{one}
		return nil
	}
	return json.Unmarshal(data, (*[]T)(l))
}

// number returns the last number of the id of a job, a task or an attempt.
func number(id string) int64 {
	n, err := strconv.ParseInt(id[strings.LastIndexByte(id, '_')+1:], 10, 64)
	if err != nil {
		return -1
	}
	return n
}

// ClientProtocol is the name of the ResourceManager's RPC protocol for clients.
const ClientProtocol = "org.apache.hadoop.yarn.api.ApplicationClientProtocolPB"

// Kill requests that an application be killed. It returns when the ResourceManager has accepted the request;
// [Client.Application] shows when it is done. An application that has ended is left unchanged, without an error. For
// another user's application the error is ErrDenied.
//
// The request is made by RPC, as by Hadoop's clients: with hadoop.http.authentication.type=simple, which is the default
// on clusters with Kerberos too, the REST API refuses it to every user (RMWebServices.updateAppState, Hadoop 3.4).
func (c *Client) Kill(ctx context.Context, id string) error {
	m := applicationID.FindStringSubmatch(id)
	if m == nil {
		return fmt.Errorf("%q is not an application id", id)
	}
	given, serial, _ := strings.Cut(m[1], "_")
	started, err := strconv.ParseUint(given, 10, 64)
	n, e := strconv.ParseUint(serial, 10, 64)
	if err := errors.Join(err, e); err != nil {
		return err
	}
	request := frames.AppendBytes(nil, 1, frames.AppendNumber(frames.AppendNumber(nil, 1, n), 2, started)) // KillApplicationRequestProto
	var all []error
	for _, address := range c.options.Calls {
		err = c.call(ctx, address, "forceKillApplication", request)
		if ctx.Err() != nil || !errors.Is(err, ErrUnreachable) { // a standby has no server for clients
			all = []error{err}
			break
		}
		all = append(all, err)
	}
	if err = errors.Join(all...); errors.Is(err, ErrDenied) {
		// The ResourceManager checks permissions before it checks whether the application has ended.
		if now, e := c.Application(ctx, id); e == nil && now.State.Ended() && (c.options.User == "" || now.User == c.options.User) {
			return nil
		}
	}
	return err
}

// call makes one call of ClientProtocol at one ResourceManager.
func (c *Client) call(ctx context.Context, address, method string, request []byte) error {
	ctx, cancel := context.WithTimeoutCause(ctx, c.options.Timeout, fmt.Errorf("no answer within %s", c.options.Timeout))
	defer cancel()
	nc, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err == nil {
		var conn *hadooprpc.Conn
		if host, _, _ := net.SplitHostPort(address); c.options.Login != nil {
			conn, err = hadooprpc.Dial(ctx, nc, host, *c.options.Login)
		} else {
			conn, err = hadooprpc.Open(nc, c.options.User, ClientProtocol)
		}
		if err == nil {
			defer conn.Close()
			_, err = hadooprpc.NewCaller(conn, ClientProtocol).Call(ctx, method, request)
		}
	}
	if err == nil {
		return nil
	}
	means := ErrUnreachable
	if e, ok := errors.AsType[*hadooprpc.Error](err); ok {
		text := e.Error() // of a YarnException: it has the class of the cause
		switch {
		case strings.Contains(text, "AccessControlException"), strings.Contains(text, "AuthorizationException"):
			means = ErrDenied
		case strings.Contains(text, "ApplicationNotFoundException"):
			means = ErrUnknown
		}
		line, _, _ := strings.Cut(text, "\n") // without the stack
		return &Error{URL: address, Why: printable(line, maxWhy), Err: means}
	}
	return &Error{URL: address, Err: errors.Join(means, err)}
}
