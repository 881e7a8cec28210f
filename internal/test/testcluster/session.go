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

// sessionTimeout is how long ZooKeeper keeps the session of a silent HBase daemon
// (zookeeper.session.timeout): the daemon counts as dead then, and ends when it learns of it.
const sessionTimeout = 10 * time.Second

// mostSilence is how long ZooKeeper may not have heard of a daemon that serves. A client that is well
// sends something every third of its session's time (ClientCnxn.SendThread of ZooKeeper 3.8). One that
// was paused still answers calls when it continues, and ends after that if its session runs out before
// it is connected again; the other half of the session's time is enough for that.
const mostSilence = sessionTimeout / 2

// probeSession asks whether the session that holds an ephemeral node is in no danger of running out.
func (c *Cluster) probeSession(ctx context.Context, znode string) error {
	heard, err := c.lastHeard(ctx, znode)
	if err != nil {
		return err
	}
	now, err := monotonic()
	if err != nil {
		return err
	}
	if silence := now - heard; silence > mostSilence {
		return fmt.Errorf("zookeeper has not heard of the owner of %s for %s", znode, silence)
	}
	return nil
}

// lastHeard says when ZooKeeper last answered the session that holds an ephemeral node, on the clock of
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

// sessionOf finds the id of the session that holds a node in the answer to "dump": a line with the id
// and a colon, then a line for each of its nodes (DataTree.dumpEphemerals of ZooKeeper 3.8).
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

// lastAnswer reads lresp, the milliseconds of System.nanoTime at the last answer, of a session's
// connection from the answer to "cons" (ServerCnxn.dumpConnectionInfo of ZooKeeper 3.8).
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

// monotonic returns the clock that System.nanoTime of a JVM on this machine reads.
func monotonic() (time.Duration, error) {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		return 0, fmt.Errorf("the monotonic clock: %w", err)
	}
	return time.Duration(ts.Nano()), nil
}

// mostWords bounds an answer of ZooKeeper to a four-letter word.
const mostWords = 1 << 20

// askZooKeeper gives ZooKeeper's answer to a four-letter word, which 4lw.commands.whitelist must have.
func (c *Cluster) askZooKeeper(ctx context.Context, word string) (string, error) {
	conn, err := connect(ctx, c.state.Ports.ZooKeeper)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, word); err != nil {
		return "", err
	}
	answer, err := io.ReadAll(io.LimitReader(conn, mostWords))
	return string(answer), err
}
