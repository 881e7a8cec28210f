package testcluster

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// sessionTimeout is the time for which ZooKeeper keeps the session of a silent HBase daemon
// (zookeeper.session.timeout). After that the daemon counts as dead, and ends when it learns of it.
const sessionTimeout = 10 * time.Second

// maxSilence is the time for which ZooKeeper may not have heard from a daemon that serves. A healthy client sends
// something every third of its session's time (ClientCnxn.SendThread of ZooKeeper 3.8). One that was paused still
// answers calls when it continues, and ends afterwards if its session expires before it is connected again; the other
// half of the session's time is enough for that.
const maxSilence = sessionTimeout / 2

// probeSession checks that the session of an ephemeral node is not about to expire.
func (c *Cluster) probeSession(ctx context.Context, znode string) error {
	heard, err := c.lastHeard(ctx, znode)
	if err != nil {
		return err
	}
	now, err := monotonic()
	if err != nil {
		return err
	}
	if silence := now - heard; silence > maxSilence {
		return fmt.Errorf("zookeeper has not heard of the owner of %s for %s", znode, silence)
	}
	return nil
}

// lastHeard returns the time of ZooKeeper's last response to the session of an ephemeral node, on the clock of
// monotonic.
func (c *Cluster) lastHeard(ctx context.Context, znode string) (time.Duration, error) {
	sessions, err := c.askZooKeeper(ctx, "dump")
	if err != nil {
		return 0, err
	}
	session := sessionOf(sessions, znode)
	if session == "" {
		return 0, fmt.Errorf("no zookeeper session holds %s", znode)
	}
	connections, err := c.askZooKeeper(ctx, "cons")
	if err != nil {
		return 0, err
	}
	return lastAnswer(connections, session)
}

// sessionOf returns the id of a node's session from the output of "dump": a line with the id and a colon, then a line
// for each of its nodes (DataTree.dumpEphemerals of ZooKeeper 3.8).
func sessionOf(dump, znode string) string {
	id := ""
	for line := range strings.Lines(dump) {
		line = strings.TrimSpace(line)
		if owner, ok := strings.CutSuffix(line, ":"); ok && strings.HasPrefix(owner, "0x") {
			id = owner
		} else if line == znode && id != "" {
			return id
		}
	}
	return ""
}

// lastAnswer returns lresp, the milliseconds of System.nanoTime at the last response, of a session's connection from
// the output of "cons" (ServerCnxn.dumpConnectionInfo of ZooKeeper 3.8).
func lastAnswer(cons, session string) (time.Duration, error) {
	for line := range strings.Lines(cons) {
		if !strings.Contains(line, "sid="+session+",") {
			continue
		}
		_, rest, found := strings.Cut(line, "lresp=")
		number, _, _ := strings.Cut(rest, ",")
		ms, err := strconv.ParseInt(number, 10, 64)
		if !found || err != nil {
			return 0, fmt.Errorf("zookeeper answers cons with %q", line)
		}
		return time.Duration(ms) * time.Millisecond, nil
	}
	return 0, fmt.Errorf("session %s has no connection to zookeeper", session)
}

// monotonic returns the time of the clock of System.nanoTime in a JVM on this machine.
func monotonic() (time.Duration, error) {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		return 0, fmt.Errorf("the monotonic clock: %w", err)
	}
	return time.Duration(ts.Nano()), nil
}

// maxWords is the size limit of ZooKeeper's response to a four-letter word.
const maxWords = 1 << 20

// askZooKeeper returns ZooKeeper's response to a four-letter word, which must be in 4lw.commands.whitelist.
func (c *Cluster) askZooKeeper(ctx context.Context, word string) (string, error) {
	conn, err := connect(ctx, c.state.Ports.ZooKeeper)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, word); err != nil {
		return "", err
	}
	answer, err := io.ReadAll(io.LimitReader(conn, maxWords))
	return string(answer), err
}
