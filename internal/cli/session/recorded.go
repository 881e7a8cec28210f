package session

import (
	"os"
	"slices"
	"strings"

	"bulkload/internal/cli/settings"
	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/pipeline/streams"
)

// recordedEnv are the variables that a recorded command has besides those of settings: where configuration and state are. Credentials
// are not among them.
var recordedEnv = []string{"HADOOP_CONF_DIR", "HBASE_CONF_DIR", "HADOOP_HOME", "HADOOP_USER_NAME", "KRB5_CONFIG", "KRB5CCNAME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "TMPDIR", "TZ"}

// recorded is the command as its job's directory keeps it, from which the console starts it again.
func (s *Session) recorded() checkpoint.Command {
	c := checkpoint.Command{Schema: 1, Args: s.Args, UID: os.Getuid(), Env: map[string]string{}}
	c.Host, _ = os.Hostname()
	c.Dir, _ = os.Getwd()
	for _, v := range os.Environ() {
		name, value, _ := strings.Cut(v, "=")
		if slices.Contains(recordedEnv, name) || strings.HasPrefix(name, "BULKLOAD_") && !strings.HasPrefix(name, "BULKLOAD_TEST_") {
			c.Env[name] = value
		}
	}
	if found := settings.Of(s.cmd); found.Dated {
		c.Args = append(slices.Clone(c.Args), "--date="+found.Day.Whole()) // not the yesterday of another day
	}
	restart, _ := s.cmd.Flags().GetBool("restart")
	switch {
	case len(streams.Places(s.about.Spec.Inputs)) > 0:
		c.Unfit = "reads a stream"
	case restart:
		c.Unfit = "has --restart, which discards what is done"
	}
	return c
}
