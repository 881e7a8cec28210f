package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"bulkload/internal/test/jobtest"
)

// An exampleCommand is a command of an example, with its number of processes. $N is the number of a process, from 0.
type exampleCommand struct {
	args  []string
	times int
}

// kubernetesCommands returns the containers' arguments of examples/kubernetes/shares.yaml.
func kubernetesCommands(t *testing.T, text string) (all []exampleCommand) {
	t.Helper()
	args := regexp.MustCompile(`(?m)^ {12}- ((?:plan|build|merge|--).*)$`)
	completions := regexp.MustCompile(`(?m)^  completions: (\d+)$`)
	for doc := range strings.SplitSeq(text, "\n---\n") {
		if !strings.Contains(doc, "kind: Job\n") {
			continue
		}
		times, err := strconv.Atoi(completions.FindStringSubmatch(doc)[1])
		if err != nil {
			t.Fatal(err)
		}
		c := exampleCommand{times: times}
		for _, m := range args.FindAllStringSubmatch(doc, -1) {
			c.args = append(c.args, strings.ReplaceAll(m[1], "$(SHARE)", "$N"))
		}
		all = append(all, c)
	}
	return all
}

// airflowCommands returns the commands of examples/airflow/shares_bash.py.
func airflowCommands(t *testing.T, text string) (all []exampleCommand) {
	t.Helper()
	constant := func(name string) string {
		m := regexp.MustCompile(`(?m)^` + name + ` = (?:.*, "(.*)"\)|(\d+))`).FindStringSubmatch(text)
		if m == nil {
			t.Fatalf("the example has no %s", name)
		}
		return m[1] + m[2]
	}
	for _, m := range regexp.MustCompile(`f"exec bulkload ((?:plan|build|merge) .*) "`).FindAllStringSubmatch(text, -1) {
		c := exampleCommand{times: 1}
		for _, name := range []string{"SHARES", "MERGES"} {
			if strings.Contains(m[1], "{"+name+"}") {
				c.times, _ = strconv.Atoi(constant(name))
			}
		}
		line := strings.NewReplacer("{NIGHT}", "/shared/check", "{k}", "$N+1", "{JOBS}", constant("JOBS"), "{EXPORTS}", constant("EXPORTS"), "{TABLES}", constant("TABLES"),
			"{SHARES}", constant("SHARES"), "{MERGES}", constant("MERGES"), "{DAY}", "20261120").Replace(m[1])
		c.args = strings.Fields(strings.ReplaceAll(line, "--job ", "--job="))
		all = append(all, c)
	}
	return all
}

// TestExamplesOfShares runs the commands of the examples as processes, on local files: they must give the files of a
// single build.
func TestExamplesOfShares(t *testing.T) {
	root := jobtest.Absolute(t, "../..")
	input := filepath.Join(root, "testdata", "exports", "check.csv")
	given := []string{"--job", filepath.Join(root, "examples", "check.yaml"), "--input", input, "--splits", "salt:10", "--timestamp", "1700000000000"}
	for name, commands := range map[string]func(*testing.T, string) []exampleCommand{
		"kubernetes/shares.yaml": kubernetesCommands, "airflow/shares_bash.py": airflowCommands,
	} {
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join(root, "examples", name))
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			j := sharedJob{t, dir, given}
			files, manifest := j.local()
			all := commands(t, string(text))
			if len(all) != 3 {
				t.Fatalf("%d commands: %v", len(all), all)
			}
			processes := 0
			for _, c := range all {
				for n := range c.times {
					args := slices.Clone(c.args)
					for i, a := range args {
						a = strings.ReplaceAll(a, "$N", strconv.Itoa(n))
						a = strings.ReplaceAll(a, "/etc/bulkload", filepath.Join(root, "examples"))
						a = strings.ReplaceAll(a, "hdfs:///user/tina/check/20261120", input)
						a = strings.ReplaceAll(a, "hdfs:///tmp", dir)
						a = strings.ReplaceAll(a, "/shared", dir)
						args[i] = strings.ReplaceAll(a, "=/spill", "="+dir)
					}
					if args[0] == "plan" { // without a table to query
						args = append(args, "--splits", "salt:10", "--timestamp", "1700000000000", "--split-size", "40KiB")
					}
					j.must(args...)
					processes++
				}
			}
			found, err := filepath.Glob(filepath.Join(dir, "*.hfiles"))
			if err != nil || len(found) != 1 || processes < 9 {
				t.Fatalf("%d processes, %v, %v", processes, found, err)
			}
			if err := os.Rename(found[0], filepath.Join(dir, "hfiles")); err != nil {
				t.Fatal(err)
			}
			j.hold(files, manifest)
		})
	}
}
