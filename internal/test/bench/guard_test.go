package bench

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"bulkload/internal/test/bench/data"
	"bulkload/internal/test/testcheck"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestByChance compares the probability with an enumeration of all orders.
func TestByChance(t *testing.T) {
	testcheck.Check(t, func(t *rapid.T) {
		n, m := rapid.IntRange(1, 5).Draw(t, "n"), rapid.IntRange(1, 5).Draw(t, "m")
		all := rapid.Permutation(numbers(n+m)).Draw(t, "order")
		pairs := func(member func(i int) bool) (u float64) {
			for i := range n + m {
				for j := range n + m {
					if member(i) && !member(j) && i < j {
						u++
					}
				}
			}
			return min(u, float64(n*m)-u)
		}
		mine := pairs(func(i int) bool { return slices.Contains(all[:n], float64(i)) })
		as, orders := 0, 0
		for set := range 1 << (n + m) {
			member := func(i int) bool { return (set>>i)&1 == 1 }
			count := 0
			for i := range n + m {
				if member(i) {
					count++
				}
			}
			if count != n {
				continue
			}
			orders++
			if pairs(member) <= mine {
				as++
			}
		}
		got, want := byChance(all[:n], all[n:]), float64(as)/float64(orders)
		if math.Abs(got-want) > 1e-9 {
			t.Fatalf("%v and %v: %v, not %v", all[:n], all[n:], got, want)
		}
	})
	if got := byChance([]float64{1, 1, 1, 1}, []float64{1, 1, 1, 1}); got != 1 {
		t.Errorf("equal rounds differ by chance with %v", got)
	}
}

func numbers(n int) []float64 {
	all := make([]float64, n)
	for i := range all {
		all[i] = float64(i)
	}
	return all
}

func TestJudge(t *testing.T) {
	for name, c := range map[string]struct {
		today, before []float64
		want          string
	}{
		"apart":                                  {[]float64{80, 81, 82, 83}, []float64{90, 91, 92, 93}, "faster"},
		"apart the other way":                    {[]float64{90, 91, 92, 93}, []float64{80, 81, 82, 83}, "slower"},
		"one disturbed round of five":            {[]float64{80, 81, 200, 83, 82}, []float64{90, 91, 92, 93, 94}, same}, // U is 5: p is 0.15
		"one disturbed round of seven":           {[]float64{80, 81, 200, 83, 82, 84, 85}, []float64{90, 91, 92, 93, 94, 95, 96}, "faster"},
		"one a little disturbed":                 {[]float64{80, 81, 91.5, 83, 82}, []float64{90, 91, 92, 93, 94}, "faster"},
		"three rounds are too few":               {[]float64{1, 2, 3}, []float64{7, 8, 9}, same},
		"apart by a hundredth":                   {[]float64{1001, 1002, 1003, 1004}, []float64{1011, 1012, 1013, 1014}, same},
		"within each other":                      {[]float64{80, 95, 85, 90}, []float64{81, 94, 86, 89}, same},
		"nothing measured":                       {nil, []float64{1, 2}, same},
		"what takes nothing is not a difference": {[]float64{0, 0, 0, 0}, []float64{0, 0, 0, 0}, same},
	} {
		if got := judge(c.today, c.before, "faster", "slower"); got.Word != c.want {
			t.Errorf("%s: %s, not %s: %+v", name, got.Word, c.want, got)
		}
	}
}

func TestExpand(t *testing.T) {
	if got := Expand([]string{"build", "guard", "skew"}); !slices.Equal(got, slices.Concat([]string{"build"}, GuardCases(), []string{"skew"})) {
		t.Errorf("%v", got)
	}
	if got := Expand([]string{"all"}); !slices.Equal(got, Cases()) {
		t.Errorf("%v", got)
	}
	if err := CheckCases(Expand([]string{"all", "guard"})); err != nil {
		t.Error(err)
	}
	for _, name := range GuardCases() {
		if guardBuilds[name].title == "" {
			t.Errorf("%s builds nothing", name)
		}
	}
}

// TestLimit checks that no round begins after the limit, but that a verdict's minimum of rounds is measured.
func TestLimit(t *testing.T) {
	var order []string
	walls := make([]time.Duration, 10)
	for i := range walls {
		walls[i] = time.Second
	}
	c := Case{Name: "x", Rounds: 9, Limit: 1, Tools: []Tool{fake("a", 1, &order, walls...)}}
	r, err := Measure(t.Context(), c, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if r.Rounds != minRounds || len(r.Tools[0].Measured) != minRounds {
		t.Errorf("%d rounds, %d samples", r.Rounds, len(r.Tools[0].Measured))
	}
}

// guarded returns the report of a case of the guard for tools with the given seconds in each round.
func guarded(t *testing.T, name string, floor, before, today float64) CaseReport {
	t.Helper()
	var order []string
	c := Case{Name: name, Title: "what", Rounds: 4, Reference: "floor", Today: toolToday, Baseline: "v1.0.0"}
	for _, tool := range []struct {
		name string
		wall float64
	}{{"floor", floor}, {"v1.0.0", before}, {toolToday, today}} {
		if tool.wall == 0 {
			continue
		}
		var walls []time.Duration
		for i := range 5 {
			walls = append(walls, time.Duration((tool.wall+float64(i)/1000)*1e9))
		}
		c.Tools = append(c.Tools, fake(tool.name, 1, &order, walls...))
	}
	r, err := Measure(t.Context(), c, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestLine(t *testing.T) {
	for _, c := range []struct {
		floor, before, today float64
		want                 string
	}{
		{2, 2, 1, "guard-dump ÷ v1.0.0: wall 0.50 (0.50–0.50) faster, CPU 0.50 (0.50–0.50) faster, peak 1.00 (1.00–1.00) same; ÷ floor: wall 0.50 (0.50–0.50), CPU 0.50 (0.50–0.50), peak 1.00 (1.00–1.00)"},
		{0, 1, 2, "guard-dump ÷ v1.0.0: wall 2.00 (2.00–2.00) slower, CPU 2.00 (2.00–2.00) slower, peak 1.00 (1.00–1.00) same"},
		{1, 0, 1, "guard-dump ÷ floor: wall 1.00 (1.00–1.00), CPU 1.00 (1.00–1.00), peak 1.00 (1.00–1.00)"},
		{0, 0, 1, ""},
	} {
		r := guarded(t, GuardDump, c.floor, c.before, c.today)
		if diff := cmp.Diff(c.want, r.Line()); diff != "" {
			t.Error(diff)
		}
		if !strings.Contains(r.Markdown(), c.want) {
			t.Errorf("the line is not in the document:\n%s", r.Markdown())
		}
	}
}

func TestReleaseRow(t *testing.T) {
	var cases []CaseReport
	for _, name := range GuardCases() {
		if row := ReleaseRow("v1.1.0", cases); row != "" {
			t.Errorf("a row of %d cases: %s", len(cases), row)
		}
		today := 1.0
		if name == GuardMany {
			today = 3
		}
		cases = append(cases, guarded(t, name, 2, 1, today))
	}
	const half = "0.50, 0.50, 1.00 | "
	want := "| v1.1.0 | " + strings.Repeat(half, 4) + "1.50, 1.50, 1.00 | " + half + "v1.0.0: regions1000 wall 3.00 slower; regions1000 CPU 3.00 slower |"
	if diff := cmp.Diff(want, ReleaseRow("v1.1.0", cases)); diff != "" {
		t.Error(diff)
	}
	for i := range cases {
		cases[i] = guarded(t, cases[i].Name, 0, 0, 1)
	}
	if got, want := ReleaseRow("v1.1.0", cases), "| v1.1.0 |"+strings.Repeat(" – |", 7); got != want {
		t.Errorf("%s, not %s", got, want)
	}
}

// TestBaselineCommit checks which release is the previous one.
func TestBaselineCommit(t *testing.T) {
	root := t.TempDir()
	git := func(args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "git", append([]string{"-C", root, "-c", "user.name=a", "-c", "user.email=a@b.invalid", "-c", "commit.gpgsign=false", "-c", "tag.gpgsign=false"}, args...)...)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	write := func(text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Join(root, "sub"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, "sub", "file"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	commit := func(text string) string {
		t.Helper()
		write(text)
		git("add", ".")
		git("commit", "-q", "-m", text)
		return git("rev-parse", "HEAD")
	}
	find := func(named string) (string, string, error) {
		t.Helper()
		lab, err := NewLab(Config{Root: root, Dir: t.TempDir(), Baseline: named})
		if err != nil {
			t.Fatal(err)
		}
		return lab.baselineCommit(t.Context())
	}
	want := func(named, ref, commit string) {
		t.Helper()
		r, c, err := find(named)
		if err != nil || r != ref || c != commit {
			t.Errorf("%s %s %v, not %s %s", r, c, err, ref, commit)
		}
	}
	git("init", "-q")
	if _, _, err := find(""); !errors.Is(err, ErrNoBaseline) {
		t.Errorf("without a commit: %v", err)
	}
	first := commit("first")
	if _, _, err := find(""); !errors.Is(err, ErrNoBaseline) {
		t.Errorf("without a tag: %v", err)
	}
	want(first[:12], first[:12], first)
	if _, _, err := find("v9"); err == nil || errors.Is(err, ErrNoBaseline) || !strings.Contains(err.Error(), `"v9"`) {
		t.Errorf("a name that is none: %v", err)
	}
	git("tag", "-m", "v1.0.0", "v1.0.0")
	if _, _, err := find(""); !errors.Is(err, ErrNoBaseline) {
		t.Errorf("a release is compared with itself: %v", err)
	}
	write("changed")
	want("", "v1.0.0", first)
	second := commit("second")
	want("", "v1.0.0", first)
	git("tag", "nightly")
	want("", "v1.0.0", first)
	git("tag", "v1.1.0")
	want("", "v1.0.0", first)
	commit("third")
	want("", "v1.1.0", second)

	lab, err := NewLab(Config{Root: root, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	dir := lab.path("tree")
	if err := lab.extract(t.Context(), first, dir); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(filepath.Join(dir, "sub", "file")); err != nil || string(b) != "first" {
		t.Errorf("%q %v", b, err)
	}
	if _, err := os.Stat(dir + ".tar"); !os.IsNotExist(err) {
		t.Errorf("the archive is left behind: %v", err)
	}
}

// TestGuardCase measures a few rows with the real programs, today's program against itself.
func TestGuardCase(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and runs the program twice")
	}
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, base := range []string{"HEAD", ""} {
		lab, err := NewLab(Config{Root: root, Dir: t.TempDir(), Rows: 500, Rounds: 1, Touch: 1 << 20, Baseline: base})
		if err != nil {
			t.Fatal(err)
		}
		names := GuardCases()
		if base == "" {
			names = names[:1] // there may be no tag
		} else if _, err := lab.git(t.Context(), "rev-parse", "HEAD"); err != nil {
			t.Skip("no repository: " + err.Error())
		}
		for _, name := range names {
			r, err := lab.Run(t.Context(), name)
			if err != nil {
				t.Fatal(err)
			}
			if r.today().Wall.Median <= 0 {
				t.Errorf("%s: nothing measured: %+v", name, r)
			}
			if base != "" && (r.Verdict == nil || r.Line() == "") {
				t.Errorf("%s: no verdict", name)
			}
			if r.Verdict == nil && !strings.Contains(strings.Join(r.Notes, " "), "--baseline") {
				t.Errorf("%s does not say that the release before is left out: %q", name, r.Notes)
			}
		}
		if err := lab.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(lab.path("baseline")); !os.IsNotExist(err) {
			t.Errorf("the release before is left behind: %v", err)
		}
	}
}

// CaseGuard stands for the cases of GuardCases, which compare a release with the previous one.
const CaseGuard = "guard"

// Names of the guard's cases.
const (
	GuardDump    = "guard-dump"
	GuardCSV     = "guard-csv"
	GuardParquet = "guard-parquet"
	GuardOne     = "guard-region1"
	GuardMany    = "guard-regions1000"
	GuardSpill   = "guard-spill64"
)

// GuardCases returns the cases that guard stands for, in the order in which they run.
func GuardCases() []string {
	return []string{GuardDump, GuardCSV, GuardParquet, GuardOne, GuardMany, GuardSpill}
}

const (
	// guardLimit is the time after which a case of the guard begins no further round: all of them take five minutes
	// on two cores.
	guardLimit = 45 * time.Second
	// guardPart is the divisor of Config.Rows for the guard: more rounds show more than more rows.
	guardPart = 2
	// guardMemory is more than the memory of any of the guard's tools, in bytes.
	guardMemory = 1 << 30
	// guardSalts is the number of salts of the keys of a table with one region.
	guardSalts = 10
	// toolToday is the name of the checkout's current program.
	toolToday = "today"
)

// guardBuilds are the builds of the guard's cases; name and program are the tool's.
var guardBuilds = map[string]struct {
	title string
	run   buildRun
}{
	GuardDump:    {"from a dump into 10 regions", buildRun{form: data.Dump}},
	GuardCSV:     {"from CSV into 10 regions", buildRun{form: data.CSV}},
	GuardParquet: {"from Parquet into 10 regions", buildRun{form: data.Parquet}},
	GuardOne:     {"from a dump into one region", buildRun{form: data.Dump, regions: 1}},
	GuardMany:    {"from a dump into 1,000 regions", buildRun{form: data.Dump, regions: 1000}},
	GuardSpill:   {"from a dump into 10 regions with --memory 64MiB", buildRun{form: data.Dump, memory: "64MiB"}},
}

// guardCase compares a build by today's program with the same build by the previous release, and with the floor. A
// missing program is left out, and a note says so.
func (l *Lab) guardCase(name string) func(context.Context) (Case, error) {
	return func(ctx context.Context) (Case, error) {
		b := guardBuilds[name]
		b.run.spec = data.Spec{Table: data.Check, Rows: max(l.Rows/guardPart, 1), Seed: l.Seed, Regions: 10}
		b.run.name = toolToday
		c := Case{Name: name, Rounds: guardRounds(l.Rounds), Limit: guardLimit, Touch: guardMemory, Today: toolToday,
			Title: fmt.Sprintf("bulkload build of %s check rows %s", grouped(b.run.spec.Rows), b.title)}
		switch t, err := l.floorTool(ctx, b.run.spec); {
		case errors.Is(err, ErrNoFloor):
			c.Notes = append(c.Notes, "Without the floor: "+err.Error()+".")
		case err != nil:
			return Case{}, err
		default:
			c.Reference = t.Name
			c.Tools = append(c.Tools, t)
			if name != GuardDump {
				c.Notes = append(c.Notes, "floor builds 10 regions from the dump of the same rows, in memory, in every case.")
			}
		}
		runs := []buildRun{b.run}
		switch base, err := l.releaseBefore(ctx); {
		case errors.Is(err, ErrNoBaseline):
			c.Notes = append(c.Notes, "Without the release before: "+err.Error()+".")
			l.Log.Warn("the release before is left out", "why", err)
		case err != nil:
			return Case{}, err
		default:
			c.Baseline = base.name
			before := b.run
			before.name, before.program, before.examples = base.name, base.program, base.examples
			runs = append(runs, before)
			c.Notes = append(c.Notes, base.note)
		}
		return l.caseOf(ctx, c, runs...)
	}
}

// guardRounds returns seven rounds for each five of other cases: one disturbed round of seven does not hide a
// difference.
func guardRounds(rounds int) int { return rounds + rounds*2/5 }

// ReleaseRow returns the row of a release in the table of ratios of docs/performance.md: the results of the guard's
// cases against the floor, and the measures that differ from the previous release. It is empty unless all of the
// guard's cases are present.
func ReleaseRow(release string, cases []CaseReport) string {
	row, differs, baseline := "| "+release+" |", "", ""
	for _, name := range GuardCases() {
		i := slices.IndexFunc(cases, func(c CaseReport) bool { return c.Name == name })
		if i < 0 {
			return ""
		}
		c := &cases[i]
		cell := "–"
		if r := c.today().Ratio; r != nil {
			cell = fmt.Sprintf("%.2f, %.2f, %.2f", r.Wall.Median, r.CPU.Median, r.Peak.Median)
		}
		row += " " + cell + " |"
		if v := c.Verdict; v != nil {
			baseline = v.Baseline
			for _, m := range v.measures() {
				if m.Word != same {
					differs += fmt.Sprintf("; %s %s %.2f %s", name[len("guard-"):], m.name, m.Ratio.Median, m.Word)
				}
			}
		}
	}
	switch {
	case baseline == "":
		return row + " – |"
	case differs == "":
		return row + " " + baseline + ": same in all |"
	}
	return row + " " + baseline + ": " + differs[2:] + " |"
}
