package testcluster

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// secureProbeTimeout limits a probe of a secured HBase, including the start of its JVM. The client in the JVM gives
// up its calls after a few seconds.
const secureProbeTimeout = time.Minute

// secured reports whether only a client with credentials can call HBase.
func (s Security) secured() bool { return s.Kerberos || s.TLS != "" }

// pollEvery returns the interval between probes: those of a secured cluster are expensive.
func (s Security) pollEvery() time.Duration {
	if s.secured() {
		return 3 * pollEvery
	}
	return pollEvery
}

func startTimeout(s Security, yarn bool) time.Duration {
	limit := defaultStartTimeout
	if s.secured() {
		limit = 10 * time.Minute
	}
	if yarn {
		limit += 2 * time.Minute
	}
	return limit
}

// serverName is HBase's name of one process of a server.
type serverName struct {
	host      string
	port      int
	startCode int64
}

func (s serverName) String() string { return fmt.Sprintf("%s,%d,%d", s.host, s.port, s.startCode) }

// hbaseState is the state of the cluster according to an initialised master.
type hbaseState struct {
	live    []serverName
	crashes int // deaths of region servers that the master is still processing
}

// askHBase makes the requests of ready.go through HBase's own client, and reads from hbase:meta.
func (c *Cluster) askHBase(ctx context.Context) (hbaseState, error) {
	a, err := c.proberAdmin(ctx)
	if err != nil {
		return hbaseState{}, err
	}
	out, err := a.Run(ctx, "probe")
	if err != nil {
		return hbaseState{}, err
	}
	return parseHBaseState(out)
}

// parseHBaseState parses the output of "probe" of Adm: lines of a word and a value.
func parseHBaseState(out string) (hbaseState, error) {
	var s hbaseState
	for line := range strings.Lines(out) {
		word, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		var err error
		switch word {
		case "live":
			fields := strings.Split(value, ",")
			if len(fields) != 3 {
				return s, fmt.Errorf("probe answers %q", line)
			}
			name := serverName{host: fields[0]}
			if name.port, err = strconv.Atoi(fields[1]); err == nil {
				name.startCode, err = strconv.ParseInt(fields[2], 10, 64)
			}
			s.live = append(s.live, name)
		case "crashes":
			s.crashes, err = strconv.Atoi(value)
		}
		if err != nil {
			return s, fmt.Errorf("probe answers %q: %w", line, err)
		}
	}
	return s, nil
}

// proberAdmin returns a client other than that of Cluster.Admin, whose calls may take any time.
func (c *Cluster) proberAdmin(ctx context.Context) (*Admin, error) {
	// Not c.mu: daemons are started while the JVM starts.
	c.proberStart.Lock()
	defer c.proberStart.Unlock()
	c.mu.Lock()
	a := c.prober
	c.mu.Unlock()
	if a != nil && a.usable() {
		return a, nil
	}
	if a != nil {
		a.close()
	}
	a, err := c.startAdmin(ctx, c.javaCommandAs(HBaseAdmin, "Adm", "serve"))
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped {
		a.close()
		return nil, errStopped
	}
	c.prober = a
	return a, nil
}
