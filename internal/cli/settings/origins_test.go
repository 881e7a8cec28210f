package settings

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"

	"bulkload/internal/model/fail"
	"bulkload/internal/model/spec"
	"bulkload/pkg/setting"

	"github.com/spf13/cobra"
)

// TestOrigins checks that an error names the origins of the settings that it has as fields, whatever its text
// contains.
func TestOrigins(t *testing.T) {
	cmd := &cobra.Command{Use: "run"}
	for _, name := range []string{"memory", "workers", "empty", "input", "spill-dir", "verify"} {
		cmd.Flags().String(name, "", "")
	}
	cmd.SetContext(context.WithValue(t.Context(), settledKey{}, &Settled{Origins: map[string]string{
		"memory": "config file c.yaml:3", "workers": "flag --workers", "empty": "job file j.yaml:2", "input": "environment variable BULKLOAD_INPUT", "verify": "config file c.yaml:4",
	}}))
	cause := errors.New("too little")
	spilled := setting.Errorf("%w: give more %s, or fewer %s, or another %s", cause, setting.Memory, setting.Workers, setting.SpillDir)
	field := func(name string) error { return &spec.FieldError{Field: name, Err: cause} }
	for _, c := range []struct {
		err  error
		want string
	}{
		{spilled, "too little: give more --memory, or fewer --workers, or another --spill-dir (--memory is from config file c.yaml:3)"},
		{fail.With(fail.Config, errors.Join(field("verify"), fmt.Errorf("x: %w", field("empty")))),
			"verify: too little\nx: empty: too little (empty is from job file j.yaml:2; verify is from config file c.yaml:4)"},
		{field("inputs"), "inputs: too little (inputs is from environment variable BULKLOAD_INPUT)"},
		{AboutFlags(fmt.Errorf("--memory and --verify: %w", cause), "memory", "verify"),
			"--memory and --verify: too little (--memory is from config file c.yaml:3; --verify is from config file c.yaml:4)"},
		{AboutFlags(fmt.Errorf("--input: %w", spilled), "input"), "--input: too little: give more --memory, or fewer --workers, or another --spill-dir " +
			"(--input is from environment variable BULKLOAD_INPUT; --memory is from config file c.yaml:3)"},
		{fmt.Errorf("empty: a file is called --memory: %w", cause), "empty: a file is called --memory: too little"},
		{setting.Errorf("config file c.yaml:3: %s: %w", setting.Memory, cause), "config file c.yaml:3: --memory: too little"},
	} {
		got := WithOrigins(cmd, c.err)
		if got.Error() != c.want {
			t.Errorf("%q becomes\n%q, want\n%q", c.err, got, c.want)
		}
		if !errors.Is(got, cause) || fail.KindOf(got) != fail.KindOf(c.err) {
			t.Errorf("%q does not wrap its cause, or has another kind", got)
		}
		if again := WithOrigins(nil, got); again.Error() != c.want {
			t.Errorf("said twice, %q becomes %q", c.want, again)
		}
	}
	if WithOrigins(cmd, nil) != nil {
		t.Error("an error where there was none")
	}
}

// TestSpokenByACommand checks that no message of a command names a flag that the command lacks, for a setting that a job file has.
func TestSpokenByACommand(t *testing.T) {
	serve, get := &cobra.Command{}, &cobra.Command{}
	get.Flags().Int("salt-buckets", 0, "")
	err := fmt.Errorf("x: %w", setting.Errorf("say it with %s, and %s goes", setting.SaltBuckets, setting.Force))
	for cmd, want := range map[*cobra.Command]string{serve: "x: say it with salt_buckets, and --force goes", get: "x: say it with --salt-buckets, and --force goes"} {
		if got := WithOrigins(cmd, err); got.Error() != want {
			t.Errorf("%q, want %q", got, want)
		}
		if got := fmt.Sprint(SpokenValue(cmd, err)); got != want {
			t.Errorf("in the log: %q, want %q", got, want)
		}
	}
}

// TestSpoken checks that errors, texts and journal entries name settings as flags, and that other values stay
// unchanged.
func TestSpoken(t *testing.T) {
	for _, c := range []struct{ v, want any }{
		{setting.Errorf("give %s", setting.SaltBuckets), "give --salt-buckets"},
		{setting.Textf("give %s", setting.JobID), "give --job-id"},
		{errors.New("`memory`"), "`memory`"},
		{"`memory`", "`memory`"},
		{slog.LevelInfo, slog.LevelInfo},
	} {
		if got := SpokenValue(nil, c.v); fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%v is said as %v, want %v", c.v, got, c.want)
		}
	}
	if got := Spoken("`restart` discards `x`"); got != "--restart discards `x`" {
		t.Errorf("%q", got)
	}
	for n, want := range map[setting.Name]string{"inputs": "--input", "cells": "cells", setting.RecordSep: "--record-sep", setting.OlderThan: "--older-than"} {
		if got := Flag(n); got != want {
			t.Errorf("%s is %s, want %s", n, got, want)
		}
	}
}
