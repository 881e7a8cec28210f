package job

import (
	"strings"
	"testing"

	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/progress"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/test/jobtest"
)

// TestTableChangedWhileBuilding changes the table while its files are built. The load then does not begin: the job is refused like one that begins
// with such a table, and its journal has no load. The judge is HBase's own client.
func TestTableChangedWhileBuilding(t *testing.T) {
	t.Parallel()
	name := buildProgram(t)
	for what, c := range map[string]struct{ do, says, back string }{
		"emptied":  {"truncate", "this job has loaded nothing yet", ""},
		"offline":  {"disable", "is DISABLED: enable it first", "enable"},
		"readonly": {"attribute READONLY=true", "is read-only", "attribute READONLY=false"},
		"dropped":  {"drop", "the table does not exist", ""},
	} {
		change := func(t *testing.T, p *program, do string) {
			words := strings.Fields(do)
			p.admin(t, words[0], words[1:]...)
		}
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			p := newProgram(t, name)
			s := jobtest.Spec(t, "check")
			s.Table, s.Inputs = p.table, []string{p.input}
			e := progress.Events{OnPhase: func(phase string) {
				if phase == "check" {
					change(t, p, c.do)
				}
			}}
			o := RunOptions{WorkOptions: build.WorkOptions{Events: e}, State: checkpoint.Options{Dir: p.state}}
			_, err := Run(t.Context(), p.env, jobtest.Resolve(t, s), o)
			if fail.KindOf(err) != fail.Check || !strings.Contains(err.Error(), c.says) {
				t.Errorf("kind %s: %v", fail.KindOf(err), err)
			}
			if p.count("built") != 1 || p.count("loading") != 0 {
				t.Errorf("the journal has %d loads", p.count("loading"))
			}
			if c.do == "truncate" {
				if rows, err := p.cluster.AdminT(t).Run(t.Context(), "count", p.table); err != nil || strings.TrimSpace(rows) != "0" {
					t.Errorf("the table has %s rows: %v", rows, err)
				}
			}
			if c.back == "" {
				return
			}
			change(t, p, c.back)
			if code, _, stderr := p.run(""); code != 0 {
				t.Fatalf("exit code %d: %s", code, stderr)
			}
			p.judge(programRegions)
		})
	}
}
