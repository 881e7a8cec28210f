package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// commands are all commands that can run.
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

// sampleValue is a text that a flag takes.
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

// TestEveryFlag gives each flag of each command through the environment and
// through a file.
func TestEveryFlag(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "config.yaml")
	for n := range commands(newRootCmd(&globals{})) {
		var names []string
		fresh := func() *cobra.Command {
			cmd := commands(newRootCmd(&globals{}))[n]
			if err := cmd.ParseFlags(nil); err != nil {
				t.Fatal(err)
			}
			return cmd
		}
		fresh().Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		for _, name := range names {
			cmd := fresh()
			f := cmd.Flags().Lookup(name)
			value := sampleValue(t, f)
			if value == "" || name == "help" || name == "config" || f.Annotations[jobFileFlag] != nil {
				continue
			}
			if _, old := asOldName(f); old || bare(cmd) { // of old names testdata/renamed.txtar
				continue
			}
			key := settingName(cmd, f)
			s, err := settle(cmd, []string{variable(key) + "=" + value, "HOME=" + dir}, time.Now())
			if err != nil || !f.Changed || s.origins[name] != "environment variable "+variable(key) || strings.Trim(f.Value.String(), "[]") != value {
				t.Errorf("%s --%s: %s=%s: %v, %s from %q", cmd.CommandPath(), name, variable(key), value, err, f.Value, s.origins[name])
			}
			if slices.Contains(oneCommand, snake(key)) {
				continue
			}
			if err := os.WriteFile(file, []byte("# a site\n"+snake(key)+": "+value+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			cmd = fresh()
			f = cmd.Flags().Lookup(name)
			s, err = settle(cmd, []string{"BULKLOAD_CONFIG=" + file}, time.Now())
			if err != nil || !f.Changed || s.origins[name] != "config file "+file+":2" || strings.Trim(f.Value.String(), "[]") != value {
				t.Errorf("%s --%s in a file: %v, %s from %q", cmd.CommandPath(), name, err, f.Value, s.origins[name])
			}
		}
	}
}

// TestSecrets shows nothing of them.
func TestSecrets(t *testing.T) {
	cmd := newRootCmd(&globals{})
	run, _, err := cmd.Find([]string{"run"})
	if err != nil {
		t.Fatal(err)
	}
	f := run.Flags()
	f.String("push", "", "")
	f.String("push-auth", "", "")
	f.String("push-password", "", "")
	markSecret(f, "push-auth", "no-such-flag")
	const hidden = "hunter2"
	if err := run.ParseFlags([]string{"--push=https://tina:" + hidden + "@host/x?job=a&token=" + hidden, "--push-auth", hidden, "--push-password", hidden}); err != nil {
		t.Fatal(err)
	}
	s, err := settle(run, nil, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if s.origins["push"] != "flag --push" {
		t.Error(s.origins)
	}
	found := 0
	for _, v := range settingsOf(run) {
		if strings.Contains(v.Value, hidden) {
			t.Errorf("%+v", v)
		}
		if strings.Contains(v.Value, masked) {
			found++
		}
	}
	if found != 3 {
		t.Errorf("%d values are masked", found)
	}
}

func TestMaskURLs(t *testing.T) {
	for in, want := range map[string]string{
		"http://host:9091/a":                     "http://host:9091/a",
		"https://tina:pw@host/a":                 "https://tina:***@host/a",
		"https://tina:p@w@host:1/a@b":            "https://tina:***@host:1/a@b",
		"https://:pw@host":                       "https://:***@host",
		"https://abcdef@host/x":                  "https://***@host/x",
		"hdfs://tina@host:9000/x@y":              "hdfs://tina@host:9000/x@y",
		"hdfs://host:9000/a@b,hdfs://h:1/c":      "hdfs://host:9000/a@b,hdfs://h:1/c",
		"http://h/?token=x&a=b":                  "http://h/?token=***&a=b",
		"http://h/p?a=b&api_key=x#access_token=": "http://h/p?a=b&api_key=***#access_token=",
		"http://h/p?X-Amz-Signature=abc":         "http://h/p?X-Amz-Signature=***",
		"a b http://u:p@h c":                     "a b http://u:***@h c",
		"key=value":                              "key=value",
	} {
		if got := maskURLs(in); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

func TestNearest(t *testing.T) {
	known := []string{"memory", "workers", "spill_dir", "state", "load_mode", "staging", "max_files"}
	for name, want := range map[string]string{"memry": "memory", "worker": "workers", "spilldir": "spill_dir", "zzz": "", "": "", "stagin": "staging", "maxfiles": "max_files"} {
		if got := nearest(name, known); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
