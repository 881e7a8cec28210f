package serve

import (
	"cmp"
	"errors"
	"fmt"
	"time"
)

// Limits bound what requests take. The zero value of each field is its default.
type Limits struct {
	// Deadline is the time for an answer, from the request's header to its last row. Default 2 s.
	Deadline time.Duration
	// Rows is the most that an answer has, whatever its caller asks for. Default 1000.
	Rows int
	// DefaultRows is how many an answer has when its caller names no limit. Default 100, or Rows if that is less.
	DefaultRows int
	// Bytes is the most that an answer has; a page ends early. Default 8 MiB.
	Bytes int64
	// Keys is the most that a batch may ask for. Default 100.
	Keys int
	// Body is the most that a request's body may have, in bytes. Default 256 KiB.
	Body int64
	// Header is the most that a request's header may have, in bytes. Default 64 KiB.
	Header int
	// InFlight is how many requests read at a time. Default 256.
	InFlight int
	// PerClient is how many of them are of one client, which is an IP address where clients are not named. Default half of InFlight.
	PerClient int
	// Rate is how many requests a second each client may make, as many of them at once. Default: any number.
	Rate float64
	// BatchReads is how many keys of a batch are read at a time, each in a place of InFlight, as far as places are free.
	// Default 8.
	BatchReads int
	// Queue is how many requests wait for their turn, QueueWait for how long; others are refused with 429. Default 256 and
	// 500 ms; a negative Queue lets none wait.
	Queue     int
	QueueWait time.Duration
	// Connections is how many may be open; the next wait to be accepted. Default 1024.
	Connections int
	// ScanMemory is about how many bytes of rows a request holds besides its answer. HBase is asked for a fifth of it at a time, by its own
	// count of about 230 bytes for a small cell; with less than a page in that, a page takes several calls. Default 640 KiB.
	ScanMemory int64
	// Memory is for answers, bodies and rows of all requests together: InFlight × ScanMemory are set aside, the rest is for
	// answers and bodies. Default 256 MiB.
	Memory int64
	// HeaderWait is the time for a request's header, Write for taking an answer after the deadline, Idle for the next request
	// on a connection. Defaults 5 s, 20 s and 60 s.
	HeaderWait, Write, Idle time.Duration
	// DrainDelay is how long the server answers as before after the end of its context, no more ready; Drain is the time for the requests
	// under way after that. Defaults 0 and 20 s.
	DrainDelay, Drain time.Duration
}

// WithDefaults fills in what is not given.
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

// Validate returns an error if limits, with their defaults, contradict each other.
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

// answers returns the memory for answers and bodies.
func (l Limits) answers() int64 { return l.Memory - int64(l.InFlight)*l.ScanMemory }
