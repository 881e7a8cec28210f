package settings

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"bulkload/internal/test/testcheck"

	"github.com/spf13/cobra"
)

// flying returns a command with a setting that the program does not have.
func flying(t *testing.T, pace *string) *cobra.Command {
	t.Helper()
	root, fly := &cobra.Command{Use: "bulkload"}, &cobra.Command{Use: "fly", Run: func(*cobra.Command, []string) {}}
	root.AddCommand(fly)
	AddFlags(fly.Flags())
	Bind(fly.Flags(), To{"pace": pace})
	testcheck.Must(t, fly.ParseFlags(nil))
	return fly
}

// TestOneEntry checks that one entry gives a setting its flag, help text and default, a variable, a name in files,
// validation and completion.
func TestOneEntry(t *testing.T) {
	all := table
	t.Cleanup(func() { table = all })
	table = append(slices.Clone(all), Entry{Flag: "pace", Of: "fly", Own: true, Default: "slow", Values: []string{"slow", "even", "fast"}, Usage: "how fast"})

	var pace string
	fly := flying(t, &pace)
	if help := fly.Flags().FlagUsages(); pace != "slow" || !strings.Contains(help, `--pace string        how fast (default "slow")`) {
		t.Errorf("by default it is %q: %s", pace, help)
	}
	if words, files, dirs := Completion(fly.Flags().Lookup("pace")); len(words) != 3 || files || dirs {
		t.Errorf("a shell offers %q", words)
	}
	if known := Known(fly.Root()); !slices.Contains(known, "fly_pace") {
		t.Errorf("files know %q", known)
	}

	site := filepath.Join(t.TempDir(), "site.yaml")
	testcheck.Must(t, os.WriteFile(site, []byte("fly_pace: even\n"), 0o600))
	for _, c := range []struct {
		environ []string
		want    string
		origin  string
	}{
		{[]string{"BULKLOAD_CONFIG=" + site}, "even", "config file " + site + ":1"},
		{[]string{"BULKLOAD_CONFIG=" + site, "BULKLOAD_FLY_PACE=fast"}, "fast", "environment variable BULKLOAD_FLY_PACE"},
	} {
		fly = flying(t, &pace)
		fly.SetContext(t.Context())
		s, err := Settle(fly, c.environ, time.Now())
		if err != nil || pace != c.want || s.Origins["pace"] != c.origin {
			t.Errorf("%q: %q from %q: %v", c.environ, pace, s.Origins["pace"], err)
		}
	}
	testcheck.Must(t, fly.Flags().Set("pace", "steep"))
	if err := checkValues(fly); err == nil || err.Error() != `--pace "steep" is invalid: want slow, even or fast` {
		t.Error(err)
	}
}

// TestRange checks that numbers and times must be in the range of their entry.
func TestRange(t *testing.T) {
	for _, c := range []struct{ span, value, want string }{
		{"0..1024", "0", ""}, {"0..1024", "1024", ""}, {"0..1024", "1025", "--x 1025 is outside 0..1024"}, {"0..1024", "-1", "--x -1 is outside 0..1024"},
		{"0..", "1h0m0s", ""}, {"0..", "-1s", "--x -1s is below 0"}, {"1..", "0.5", "--x 0.5 is below 1"}, {"1..", "NaN", "--x NaN is below 1"}, {"", "x", ""},
	} {
		var f cobra.Command
		f.Flags().String("x", c.value, "")
		got := ""
		if err := (Entry{Flag: "x", Range: c.span}).check(f.Flags().Lookup("x")); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s of %q: %q, want %q", c.value, c.span, got, c.want)
		}
	}
}

// TestTable checks that no two entries define the same flag of a command, and that each has a help text.
func TestTable(t *testing.T) {
	seen := map[string]bool{}
	for _, e := range table {
		commands := strings.Fields(e.Of)
		if len(commands) == 0 {
			commands = []string{""}
		}
		for _, c := range commands {
			if name := c + " --" + e.Flag; seen[name] {
				t.Errorf("%s has two entries", name)
			} else {
				seen[name] = true
			}
		}
		if e.Usage == "" || e.Own && e.Of == "" {
			t.Errorf("--%s has no help text, or is of no command", e.Flag)
		}
	}
}

// TestOnce checks that what is for one command line is so by its name in files: the setting of the same flag of another command is not.
func TestOnce(t *testing.T) {
	for name, want := range map[string]bool{"snapshot": false, "into": false, "undo_snapshot": true, "undo_into": true, "undo_by": true, "restart": true, "job": true,
		"undo_job": true, "clean_job": true, "rekey_snapshot": false, "memory": false} {
		if Once(name) != want {
			t.Errorf("%s: %t", name, !want)
		}
	}
}

// TestOwnNamesAreDocumented checks that the documents list each setting whose variable contains the command's name.
func TestOwnNamesAreDocumented(t *testing.T) {
	b, err := os.ReadFile("../../../docs/configuration.md")
	testcheck.Must(t, err)
	_, text, _ := strings.Cut(string(b), "variables contain the command's name")
	text, _, _ = strings.Cut(text, "\n## ")
	for _, e := range table {
		for _, c := range strings.Fields(e.Of) {
			named := func(row string) bool {
				return strings.Contains(row, "`--"+e.Flag+"`") && strings.Contains(row, "`"+strings.ReplaceAll(c, "-", " ")+"`")
			}
			if e.Own && !slices.ContainsFunc(strings.Split(text, "\n"), named) {
				t.Errorf("--%s of %s is not in the table", e.Flag, c)
			}
		}
	}
}
