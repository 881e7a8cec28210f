package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bulkload/internal/cli/settings"
	"bulkload/internal/test/race"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// commands returns all commands that can run.
func commands(c *cobra.Command) []*cobra.Command {
	var list []*cobra.Command
	if c.Runnable() {
		list = append(list, c)
	}
	for _, sub := range c.Commands() {
		list = append(list, commands(sub)...)
	}
	return list
}

// sampleValue returns a valid value of a flag.
func sampleValue(t *testing.T, f *pflag.Flag) string {
	switch f.Value.Type() {
	case "bool":
		return "true"
	case "duration":
		return "7m0s"
	case "age":
		return "9d"
	case "size":
		return "7MiB"
	case "string", "stringArray", "stringSlice":
		if f.Name == "date" {
			return "2020-02-02"
		}
		if f.Name == "time-zone" {
			return "Asia/Shanghai"
		}
		return "x"
	}
	if strings.HasPrefix(f.Value.Type(), "int") || strings.HasPrefix(f.Value.Type(), "uint") || strings.HasPrefix(f.Value.Type(), "float") {
		return "7"
	}
	t.Logf("--%s is of type %s: left out", f.Name, f.Value.Type())
	return ""
}

// freshCommands returns commands whose flags were not given yet. The tree of all commands takes ten milliseconds to build, so each
// tree serves one flag of each command.
type freshCommands struct {
	trees []*freshTree
}

type freshTree struct {
	commands []*cobra.Command
	used     map[int]bool // by command
}

// with returns the nth command, with its flags parsed, of a tree in which neither it nor its flag of that name has a value: a flag of the
// root belongs to all commands.
func (c *freshCommands) with(t *testing.T, n int, name string) *cobra.Command {
	t.Helper()
	for i := 0; ; i++ {
		if i == len(c.trees) {
			c.trees = append(c.trees, &freshTree{commands(newRootCmd(&globals{})), map[int]bool{}})
		}
		tree := c.trees[i]
		if tree.used[n] {
			continue
		}
		cmd := tree.commands[n]
		if err := cmd.ParseFlags(nil); err != nil {
			t.Fatal(err)
		}
		if f := cmd.Flags().Lookup(name); f != nil && f.Changed {
			continue
		}
		tree.used[n] = true
		return cmd
	}
}

// TestEveryFlag sets each flag of each command through the environment and through a file.
func TestEveryFlag(t *testing.T) {
	race.Plain(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "config.yaml")
	programs := &freshCommands{}
	for n := range commands(newRootCmd(&globals{})) {
		var names []string
		programs.with(t, n, "help").Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		for _, name := range names {
			cmd := programs.with(t, n, name)
			f := cmd.Flags().Lookup(name)
			value := sampleValue(t, f)
			if value == "" || name == "help" || name == "config" || settings.IsJobFile(f) {
				continue
			}
			if _, old := settings.NameNow(f); old || settings.Bare(cmd) { // testdata/renamed.txtar tests old names
				continue
			}
			key := settings.Name(f)
			cmd.SetContext(t.Context())
			s, err := settings.Settle(cmd, []string{settings.Variable(key) + "=" + value, "HOME=" + dir}, time.Now())
			if err != nil || !f.Changed || s.Origins[name] != "environment variable "+settings.Variable(key) || strings.Trim(f.Value.String(), "[]") != value {
				t.Errorf("%s --%s: %s=%s: %v, %s from %q", cmd.CommandPath(), name, settings.Variable(key), value, err, f.Value, s.Origins[name])
			}
			if settings.Once(settings.Snake(key)) {
				continue
			}
			if err := os.WriteFile(file, []byte("# a site\n"+settings.Snake(key)+": "+value+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			cmd = programs.with(t, n, name)
			f = cmd.Flags().Lookup(name)
			cmd.SetContext(t.Context())
			s, err = settings.Settle(cmd, []string{"BULKLOAD_CONFIG=" + file}, time.Now())
			if err != nil || !f.Changed || s.Origins[name] != "config file "+file+":2" || strings.Trim(f.Value.String(), "[]") != value {
				t.Errorf("%s --%s in a file: %v, %s from %q", cmd.CommandPath(), name, err, f.Value, s.Origins[name])
			}
		}
	}
}

// TestSecrets checks that secret values are not shown.
func TestSecrets(t *testing.T) {
	cmd := newRootCmd(&globals{})
	run, _, err := cmd.Find([]string{"run"})
	if err != nil {
		t.Fatal(err)
	}
	f := run.Flags()
	f.String("push", "", "")
	f.String("push-token", "", "")
	f.String("push-password", "", "")
	const hidden = "hunter2"
	if err := run.ParseFlags([]string{"--push=https://tina:" + hidden + "@host/x?job=a&token=" + hidden, "--push-token", hidden, "--push-password", hidden}); err != nil {
		t.Fatal(err)
	}
	run.SetContext(t.Context())
	s, err := settings.Settle(run, nil, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if s.Origins["push"] != "flag --push" {
		t.Error(s.Origins)
	}
	found := 0
	for _, v := range settings.List(run) {
		if strings.Contains(v.Value, hidden) {
			t.Errorf("%+v", v)
		}
		if strings.Contains(v.Value, settings.Masked) {
			found++
		}
	}
	if found != 3 {
		t.Errorf("%d values are masked", found)
	}
}
