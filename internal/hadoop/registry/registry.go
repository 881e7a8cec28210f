package registry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"bulkload/internal/hadoop/hbaserpc"
)

// Options are the settings of a [Registry]. ZooKeeper is asked unless Servers are given. All of them are required but for Servers or Quorum.
type Options struct {
	Quorum  string   // ZooKeeper's servers, host:port separated by commas
	Root    string   // HBase's znode
	Servers []string // servers of the RPC registry, host:port: see [CheckServers]
	// DialTimeout bounds a connect to ZooKeeper.
	DialTimeout time.Duration
	// Timeout bounds one look into ZooKeeper, or one round of questions to the RPC registry.
	Timeout time.Duration
	Log     *slog.Logger
}

// String describes the service that is asked.
func (o Options) String() string {
	if len(o.Servers) > 0 {
		return "RPC registry " + strings.Join(o.Servers, ",")
	}
	return "ZooKeeper " + o.Quorum
}

// Registry finds the servers of one cluster, and keeps what it found until [Registry.Forget]. It may be used by any number of goroutines. A nil
// Registry is closed.
type Registry struct {
	options Options
	rpc     *hbaserpc.Client

	mu       sync.Mutex
	places   Places
	answered bool     // places were found once
	found    uint64   // number of lookups that found them
	learned  []string // servers of the RPC registry, from GetBootstrapNodes: they may live longer than the configured ones
	turn     int      // rounds of the RPC registry so far

	lookups singleflight.Group // of one key
}

// New returns a Registry that has not asked yet. It calls the servers of the RPC registry on the connections of a client.
func New(rpc *hbaserpc.Client, o Options) *Registry { return &Registry{options: o, rpc: rpc} }

// Places holds addresses of a cluster. An empty address has to be looked up.
type Places struct {
	Meta   string // host:port of the server that holds hbase:meta
	Master string // host:port of the active master; empty if there is none
	ID     string // of the cluster; empty: not reported

	lookup uint64 // number of the lookup that found them
}

// Meta returns the places with the server that holds hbase:meta.
func (r *Registry) Meta(ctx context.Context) (Places, error) {
	return r.find(ctx, func(p Places) bool { return p.Meta != "" })
}

// Master returns the places with the active master, [ErrNoMaster] if there is none.
func (r *Registry) Master(ctx context.Context) (Places, error) {
	p, err := r.find(ctx, func(p Places) bool { return p.Master != "" })
	if err == nil && p.Master == "" {
		if len(r.options.Servers) > 0 {
			return p, fmt.Errorf("the RPC registry names none: %w", ErrNoMaster)
		}
		err = fmt.Errorf("%s/master does not exist: %w", r.options.Root, ErrNoMaster)
	}
	return p, err
}

// ErrNoMaster is the error of a cluster whose master has died or is starting. Usually another master takes over.
var ErrNoMaster = errors.New("no HMaster is active")

// LookupError says that ZooKeeper, or the RPC registry, did not return HBase's location.
type LookupError struct {
	Where string // what was asked, and at which addresses
	Err   error
}

func (e *LookupError) Error() string { return "ask " + e.Where + ": " + e.Err.Error() }
func (e *LookupError) Unwrap() error { return e.Err }

// Forget drops the cached addresses, so that the next lookup asks again, unless they were looked up again since the given ones.
func (r *Registry) Forget(old Places) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.places.lookup == old.lookup {
		r.places = Places{}
	}
}

// find returns the cached addresses if they suffice, else asks. One session reads both, as a session costs more than a read. Concurrent
// callers share it, and it does not end with the context of one of them.
func (r *Registry) find(ctx context.Context, enough func(Places) bool) (Places, error) {
	if r == nil || r.rpc.Closed() {
		return Places{}, hbaserpc.ErrClosed
	}
	r.mu.Lock()
	p := r.places
	r.mu.Unlock()
	if enough(p) {
		return p, nil
	}
	asked := r.lookups.DoChan("", func() (any, error) { return r.ask(context.WithoutCancel(ctx)) })
	select {
	case a := <-asked:
		p, _ := a.Val.(Places)
		return p, a.Err
	case <-ctx.Done():
		return p, &LookupError{r.options.String(), context.Cause(ctx)}
	}
}

// ask asks ZooKeeper or the RPC registry.
func (r *Registry) ask(ctx context.Context) (p Places, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, r.options.Timeout, errors.New("no answer within "+r.options.Timeout.String()))
	defer cancel()
	if len(r.options.Servers) > 0 {
		p, err = r.askServers(ctx)
	} else {
		r.mu.Lock()
		known := r.answered
		r.mu.Unlock()
		p, err = readPlaces(ctx, r.options, known)
	}
	if _, refused := errors.AsType[*hbaserpc.LoginError](err); refused || errors.Is(err, hbaserpc.ErrSecured) || errors.Is(err, hbaserpc.ErrClosed) {
		return p, fmt.Errorf("ask %s: %w", r.options.String(), err) // asking again would not help
	}
	if err != nil {
		return p, &LookupError{r.options.String(), err}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.found++
	p.lookup = r.found
	r.places, r.answered = p, true
	return p, nil
}

// ID returns the cluster's id, as far as the places that suffice for [Registry.Meta] have one.
func (r *Registry) ID(ctx context.Context) (string, error) {
	p, err := r.find(ctx, func(p Places) bool { return p.ID != "" || p.Meta != "" })
	return p.ID, err
}

// Know sets what the next calls return, until it is forgotten.
func (r *Registry) Know(p Places) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.places = p
}
