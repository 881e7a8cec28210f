package serve

import (
	"cmp"
	"errors"
	"fmt"
	"time"
)

// Limits of the resources of requests. The zero value of each field selects its default.
type Limits struct {
	// Deadline is the time limit of a response, from the request's header to the last row. Default 2 s.
	Deadline time.Duration
	// Rows is the greatest number of rows in a response. Callers cannot raise it. Default 1000.
	Rows int
	// DefaultRows is the number of rows if the caller gives no limit. Default 100, or Rows if that is less.
	DefaultRows int
	// Bytes is the greatest size of a response; a page ends early. Default 8 MiB.
	Bytes int64
	// Keys is the greatest number of keys in a batch. Default 100.
	Keys int
	// Body is the greatest size of a request's body, in bytes. Default 256 KiB.
	Body int64
	// Header is the greatest size of a request's header, in bytes. Default 64 KiB.
	Header int
	// InFlight is the number of requests that read concurrently. Default 256.
	InFlight int
	// PerClient is the part of InFlight for one client, or for one IP address if clients are not named. A client may use the same part of the
	// memory for responses and bodies. Default half of InFlight.
	PerClient int
	// Rate is the number of requests a second of each client, and the size of a burst. Default: unlimited.
	Rate float64
	// BatchReads is the number of keys of a batch that are read concurrently. Each takes a place of InFlight, if one is
	// free. Default 8.
	BatchReads int
	// Queue is the number of requests that wait for a place, QueueWait their longest waiting time; further requests are
	// refused with 429. Default 256 and 500 ms; with a negative Queue none waits.
	Queue     int
	QueueWait time.Duration
	// Connections is the number of open connections; further ones wait to be accepted. Default 1024.
	Connections int
	// ScanMemory is the approximate number of bytes of rows that a request holds besides its response. A request to HBase asks for a fifth
	// of it, counted as HBase does, about 230 bytes for a small cell. If that is less than a page, a page takes several calls. Default 640
	// KiB.
	ScanMemory int64
	// Memory is the memory for the responses, bodies and rows of all requests. InFlight × ScanMemory of it are for rows,
	// the rest is for responses and bodies. Default 256 MiB.
	Memory int64
	// HeaderWait is the time limit for a request's header, Write for sending a response after the deadline, and Idle for the
	// next request on a connection. Defaults 5 s, 20 s and 60 s.
	HeaderWait, Write, Idle time.Duration
	// DrainDelay is the time after the end of its context for which the server still accepts requests, while it reports that it is not
	// ready. Drain is the time limit for running requests after that. Defaults 0 and 20 s.
	DrainDelay, Drain time.Duration
}

// WithDefaults fills in the defaults.
func (l Limits) WithDefaults() Limits {
	l.Deadline = cmp.Or(l.Deadline, 2*time.Second)
	l.Rows = cmp.Or(l.Rows, 1000)
	l.DefaultRows = min(cmp.Or(l.DefaultRows, 100), l.Rows)
	l.Bytes = cmp.Or(l.Bytes, 8<<20)
	l.Keys = cmp.Or(l.Keys, 100)
	l.Body = cmp.Or(l.Body, 256<<10)
	l.Header = cmp.Or(l.Header, 64<<10)
	l.InFlight = cmp.Or(l.InFlight, 256)
	l.PerClient = cmp.Or(l.PerClient, max(l.InFlight/2, 1))
	l.BatchReads = cmp.Or(l.BatchReads, 8)
	l.Queue = cmp.Or(l.Queue, 256)
	l.QueueWait = cmp.Or(l.QueueWait, 500*time.Millisecond)
	l.Connections = cmp.Or(l.Connections, 1024)
	l.ScanMemory = cmp.Or(l.ScanMemory, 640<<10)
	l.Memory = cmp.Or(l.Memory, 256<<20)
	l.HeaderWait = cmp.Or(l.HeaderWait, 5*time.Second)
	l.Write = cmp.Or(l.Write, 20*time.Second)
	l.Idle = cmp.Or(l.Idle, time.Minute)
	l.Drain = cmp.Or(l.Drain, 20*time.Second)
	return l
}

// Validate checks limits that have their defaults for contradictions.
func (l Limits) Validate() error {
	var errs []error
	for _, n := range []struct {
		name  string
		value int64
	}{
		{"deadline", int64(l.Deadline)}, {"rows", int64(l.Rows)}, {"default rows", int64(l.DefaultRows)}, {"bytes", l.Bytes}, {"keys of a batch", int64(l.Keys)}, {"body", l.Body}, {"header", int64(l.Header)},
		{"requests in flight", int64(l.InFlight)}, {"requests of a client", int64(l.PerClient)}, {"keys read at a time", int64(l.BatchReads)}, {"wait in the queue", int64(l.QueueWait)}, {"connections", int64(l.Connections)},
		{"memory of a scan", l.ScanMemory}, {"memory", l.Memory}, {"time for a header", int64(l.HeaderWait)}, {"time for an answer to be taken", int64(l.Write)}, {"idle time", int64(l.Idle)}, {"time to drain", int64(l.Drain)},
	} {
		if n.value < 1 {
			errs = append(errs, fmt.Errorf("limit of %s: %d is below 1", n.name, n.value))
		}
	}
	if !(l.Rate >= 0) {
		errs = append(errs, errors.New("limit of requests a second: it is below 0"))
	}
	if l.DrainDelay < 0 {
		errs = append(errs, errors.New("limit of the delay to drain: it is below 0"))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if l.InFlight > 1<<20 || l.ScanMemory > 1<<40 || l.answers() < l.Bytes+l.Body {
		return fmt.Errorf("memory of %d bytes is too little: %d requests in flight take %d each, and one answer %d with its request of %d", l.Memory, l.InFlight, l.ScanMemory, l.Bytes, l.Body)
	}
	return nil
}

// answers returns the memory for responses and bodies.
func (l Limits) answers() int64 { return l.Memory - int64(l.InFlight)*l.ScanMemory }

// clientAnswers returns the part of answers for one client: the part that it has of InFlight, and at least one response with its body.
func (l Limits) clientAnswers() int64 {
	part := float64(l.answers()) * min(1, float64(l.PerClient)/float64(l.InFlight))
	return min(l.answers(), max(int64(part), l.Bytes+tail+bodyMemory(l.Body)))
}
