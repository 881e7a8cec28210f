package lineage

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"bulkload/internal/base/durable"
	"bulkload/internal/cli/deliver"
)

// Sink receives events, each as one line of JSON.
type Sink interface {
	fmt.Stringer // describes the sink without secrets
	// Send delivers a line in at most the given number of attempts.
	Send(ctx context.Context, line []byte, tries int) error
}

// File is a file to which events are appended.
type File string

func (f File) String() string { return string(f) }

// Send appends a line. When the context ends it returns: a write to a pipe without a reader, or to a server's disk, may never end.
func (f File) Send(ctx context.Context, line []byte, _ int) error {
	done := make(chan error, 1)
	go func() { done <- f.add(line) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("write %s: %w", f, context.Cause(ctx))
	}
}

// add appends a line with one write, so that lines of several processes do not mix. It begins a new line after one that a full disk has cut.
func (f File) add(line []byte) error {
	out, before, err := durable.OpenLines(string(f))
	if err != nil {
		return err
	}
	_, err = out.Write(slices.Concat([]byte(before), line, []byte("\n")))
	return errors.Join(err, out.Close())
}

// httpSink is a server that receives events by POST.
type httpSink struct {
	Target deliver.Target
	Key    string // API key; empty: none is sent
}

func (e httpSink) String() string { return e.Target.String() }

func (e httpSink) Send(ctx context.Context, line []byte, tries int) error {
	client := deliver.Client()
	defer client.CloseIdleConnections()
	address := e.Target.String()
	if q := e.Target.Query(); q != "" {
		address += "?" + q
	}
	return deliver.Try(ctx, tries, func(ctx context.Context) error {
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(line))
		if err != nil {
			return err
		}
		r.Header.Set("Content-Type", "application/json")
		if user, password, ok := e.Target.User(); ok {
			r.SetBasicAuth(user, password)
		}
		if e.Key != "" {
			r.Header.Set("Authorization", "Bearer "+e.Key)
		}
		answer, err := deliver.Do(client, r)
		if err != nil {
			return err
		}
		return answer.Body.Close()
	})
}

// endpoint is the path at which OpenLineage servers receive events.
const endpoint = "api/v1/lineage"

// Open returns the sink for a flag's value, which is a file name or a server's address. For "" it uses OpenLineage's own
// environment variables. The result is nil if no events are wanted.
func Open(to string, env func(string) string) (Sink, error) {
	if disabled := env("OPENLINEAGE_DISABLED"); to == "" && strings.EqualFold(disabled, "true") {
		return nil, nil
	}
	key := env("OPENLINEAGE_API_KEY")
	if to == "" {
		address := env("OPENLINEAGE_URL")
		if address == "" {
			return nil, nil
		}
		target, err := deliver.ParseTarget(address)
		if err != nil {
			return nil, fmt.Errorf("OPENLINEAGE_URL: %w", err)
		}
		return httpSink{target.Join(cmp.Or(env("OPENLINEAGE_ENDPOINT"), endpoint)), key}, nil
	}
	if deliver.IsAddress(to) {
		target, err := deliver.ParseTarget(to)
		if err != nil {
			return nil, err
		}
		if !target.HasPath() {
			target = target.Join(endpoint)
		}
		return httpSink{target, key}, nil
	}
	name := strings.TrimPrefix(to, "file://")
	if scheme, _, ok := strings.Cut(name, "://"); ok {
		return nil, fmt.Errorf("events go to a file or to http:// or https://, not to %s://", scheme)
	}
	return File(name), nil
}

// emitter delivers events in order, in the background.
type emitter struct {
	queue  chan Event
	done   chan error
	cancel context.CancelFunc
}

// queued is the capacity of the queue of events: a run has two.
const queued = 8

// newEmitter starts an emitter. The caller closes it.
func newEmitter(sink Sink) *emitter {
	ctx, cancel := context.WithCancel(context.Background())
	e := &emitter{queue: make(chan Event, queued), done: make(chan error, 1), cancel: cancel}
	go func() { e.done <- deliverAll(ctx, sink, e.queue) }()
	return e
}

// Emit queues an event without waiting. If the queue is full, the event is lost.
func (e *emitter) Emit(ev Event) {
	select {
	case e.queue <- ev:
	default:
	}
}

// Close waits until all events are delivered, or until the context ends. No event may be emitted afterwards.
func (e *emitter) Close(ctx context.Context) error {
	close(e.queue)
	defer e.cancel()
	select {
	case err := <-e.done:
		return err
	case <-ctx.Done():
		e.cancel()
		return <-e.done
	}
}

// deliverAll delivers the events of a queue. After the sink's first failure, each event gets only one attempt.
func deliverAll(ctx context.Context, sink Sink, queue <-chan Event) error {
	var errs []error
	tries := deliver.Tries
	for ev := range queue {
		line, err := json.Marshal(ev)
		if err == nil {
			err = sink.Send(ctx, line, tries)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("event %s: %w", ev.Type, err))
			tries = 1
		}
	}
	return errors.Join(errs...)
}
