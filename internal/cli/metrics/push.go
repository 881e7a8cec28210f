package metrics

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"bulkload/internal/cli/deliver"

	"github.com/prometheus/client_golang/prometheus/push"
)

// PushJob is the value of the label job of pushed runs.
const PushJob = "bulkload"

// Push sends a run's metrics to a Pushgateway, in the group of job "bulkload" and the labels. It replaces metrics of the
// same names and keeps the others. So the time of the last success survives a failure, which does not send that metric, and a run that finds its
// job done before: a later job may have succeeded since.
func Push(ctx context.Context, to deliver.Target, tries int, r Run, l Labels) error {
	if r.Result != nil && r.Result.Already {
		r.Success = time.Time{}
	}
	client := deliver.Client()
	defer client.CloseIdleConnections()
	p := push.New(to.String(), PushJob).Collector(r.Collector()).Client(checked{client})
	for name, value := range l {
		p.Grouping(name, value)
	}
	if user, password, ok := to.User(); ok {
		p.BasicAuth(user, password)
	}
	if err := deliver.Try(ctx, tries, p.AddContext); err != nil {
		return fmt.Errorf("push metrics to %s: %w", to, err)
	}
	return nil
}

// checked is a client that checks responses itself: the pusher would put its whole address into the error.
type checked struct{ client *http.Client }

func (c checked) Do(r *http.Request) (*http.Response, error) { return deliver.Do(c.client, r) }
