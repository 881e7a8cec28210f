package testcluster

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// secureProbeTimeout bounds a probe of a secured HBase, the start of the JVM that asks included. The
// client in it gives up its calls after a few seconds.
const secureProbeTimeout = time.Minute

// secured says that nothing but a client with credentials can ask HBase.
func (s Security) secured() bool { return s.Kerberos || s.TLS != "" }

// pollEvery returns the pause between two probes: those of a secured cluster are not cheap.
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

// serverName is how HBase names one process of a server.
type serverName struct {
	host      string
	port      int
	startCode int64
}

func (s serverName) String() string { return fmt.Sprintf("%s,%d,%d", s.host, s.port, s.startCode) }

// hbaseState is what the master says of the cluster when it is initialised.
type hbaseState struct {
	live    []serverName
	crashes int // deaths of region servers that the master is still working off
}

// askHBase has HBase's own client ask what the messages of ready.go ask, and read from hbase:meta.
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

// parseHBaseState reads the answer to "probe" of Adm: lines of a word and a value.
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

// proberAdmin is another client than that of Cluster.Admin, whose calls can take as long as they like.
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
