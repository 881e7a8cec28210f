package session

import (
	"context"
	"errors"
	"sync"
	"time"

	"bulkload/internal/cli/ending"
	"bulkload/internal/model/progress"
)

const (
	// tellingTime bounds what is reported at an end: three tries of 10 s and their pauses.
	tellingTime = 35 * time.Second
	// stoppedTellingTime is what is left of it from a stop on, which has 15 s in all and needs nearly all of them for HBase
	// and HDFS.
	stoppedTellingTime = 1500 * time.Millisecond
)

// teller is an observer whose end may take time, which a context bounds.
type teller interface {
	Events() progress.Events
	Tell(ctx context.Context, o ending.Outcome) error
}

// together is observers that report at the same time, so that one that waits for an answer does not keep the others.
type together struct {
	ctx   context.Context // the command's, which a signal ends
	parts []teller
	input *inputs
}

func (t together) Events() progress.Events {
	all := []progress.Events{t.input.events()}
	for _, p := range t.parts {
		all = append(all, p.Events())
	}
	return progress.Tee(all...)
}

func (t together) End(o ending.Outcome) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.ctx), tellingTime)
	defer cancel()
	defer context.AfterFunc(t.ctx, func() { time.AfterFunc(stoppedTellingTime, cancel) })()
	errs := make([]error, len(t.parts))
	var wait sync.WaitGroup
	for i, p := range t.parts {
		wait.Go(func() { errs[i] = p.Tell(ctx, o) })
	}
	wait.Wait()
	return errors.Join(errs...)
}

// inputs are all that a command has read or is to read: a command may do several jobs, one after the other.
type inputs struct {
	mu  sync.Mutex
	sum progress.Amount
}

func (i *inputs) events() progress.Events {
	return progress.Events{OnStart: func(s progress.Start) {
		i.mu.Lock()
		defer i.mu.Unlock()
		i.sum.Files += int64(s.Files)
		i.sum.Bytes += s.Bytes
	}}
}

func (i *inputs) amount() progress.Amount {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.sum
}
