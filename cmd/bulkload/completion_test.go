package main

import (
	"errors"
	"strings"
	"testing"

	"bulkload/internal/cli/settings"
	"bulkload/internal/engine/history"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/result"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/teststate"

	"github.com/spf13/pflag"
)

// TestCompleteOld checks that tables that a new one has replaced are offered, from the state directory that is given and from the default one.
func TestCompleteOld(t *testing.T) {
	dir := t.TempDir()
	job := teststate.States{T: t, Dir: dir}.Open("ns:old", "night")
	testcheck.Must(t, job.Record(history.EventFresh, history.FreshRecord{Table: "ns:new", From: "ns:old"}))
	testcheck.Must(t, job.Record(history.EventBuilt, history.BuiltRecord{Manifest: &manifest.Manifest{Table: "ns:new"}}))
	testcheck.Must(t, errors.Join(job.End(t.Context(), &result.Result{Schema: 1, Table: "ns:new", Job: job.Dir, Attempt: 1}, nil, false, progress.Events{}), job.Close()))
	for _, given := range []bool{true, false} {
		run, _, err := newRootCmd(&globals{}).Find([]string{"run"})
		testcheck.Must(t, err)
		run.SetContext(t.Context())
		t.Setenv("BULKLOAD_STATE", dir)
		if given {
			t.Setenv("BULKLOAD_STATE", t.TempDir())
			testcheck.Must(t, run.Flags().Set("state", dir))
		}
		if names, _ := completeOld(run, nil, ""); len(names) != 1 || !strings.HasPrefix(names[0], "ns:old\t") {
			t.Errorf("given %v: %q", given, names)
		}
	}
}

// TestCompletions checks that the completions of a flag are the values in its help text.
func TestCompletions(t *testing.T) {
	root := newRootCmd(&globals{})
	for _, cmd := range append(commands(root), root) {
		cmd.NonInheritedFlags().VisitAll(func(f *pflag.Flag) {
			values, files, _ := settings.Completion(f)
			if files || f.Value.Type() == "size" {
				return // file name endings; sizes are only suggestions
			}
			for _, v := range values {
				if !strings.Contains(f.Usage, v) && f.DefValue != v {
					t.Errorf("%s --%s: the help text %q lacks %s", cmd.CommandPath(), f.Name, f.Usage, v)
				}
			}
		})
	}
}
