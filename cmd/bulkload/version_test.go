package main

import (
	"bytes"
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestBuildOf(t *testing.T) {
	vcs := func(mainVersion, modified string) *debug.BuildInfo {
		return &debug.BuildInfo{Main: debug.Module{Version: mainVersion}, Settings: []debug.BuildSetting{
			{Key: "vcs.revision", Value: "0123456789abcdef0123456789abcdef01234567"},
			{Key: "vcs.time", Value: "2026-11-21T10:00:00Z"},
			{Key: "vcs.modified", Value: modified},
		}}
	}
	here := runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH + "\n"
	for _, c := range []struct {
		name, linked string
		info         *debug.BuildInfo
		want         string
	}{
		{"make", "0.3.0", vcs("v0.2.1-0.20261121100000-0123456789ab", "false"), "bulkload 0.3.0 (0123456789ab)\nof 2026-11-21T10:00:00Z\n" + here},
		{"make, edited", "v0.3.0", vcs("(devel)", "true"), "bulkload 0.3.0 (0123456789ab, modified)\nof 2026-11-21T10:00:00Z\n" + here},
		{"go install, a version", "dev", &debug.BuildInfo{Main: debug.Module{Version: "v0.3.0"}}, "bulkload 0.3.0\n" + here},
		{"go install, a checkout", "dev", vcs("v0.0.0-20261121100000-0123456789ab", "false"),
			"bulkload 0.0.0-20261121100000-0123456789ab (0123456789ab)\nof 2026-11-21T10:00:00Z\n" + here},
		{"go run", "dev", &debug.BuildInfo{Main: debug.Module{Version: "(devel)"}}, "bulkload dev\n" + here},
		{"nothing known", "dev", nil, "bulkload dev\n" + here},
	} {
		t.Run(c.name, func(t *testing.T) {
			var b bytes.Buffer
			buildOf(c.linked, c.info).print(&b)
			if d := cmp.Diff(c.want, b.String()); d != "" {
				t.Error(d)
			}
		})
	}
}
