package abilities

import (
	"slices"
	"strings"

	"bulkload/pkg/setting"
)

// A Row is a kind of work.
type Row int

// The kinds of work. Jobs that have several tables, replace a table, or read a table are runs too.
const (
	Run Row = iota
	Tables
	Replace
	Into
	Rekey
	Undo
	Load
	Export
	Input
	Compare
	Clusters
	rows
)

// A Column is an ability.
type Column int

// The abilities.
const (
	Process Column = iota
	Several
	Shares
	YARN
	SplitBy
	Resume
	Host
	Sample
	Files
	Full
	Plan
	Pause
	Report
	Metrics
	Lineage
	Status
	Clean
	Kerberos
	Unreplicated
	Quiet
	Filtered
	Duplicates
	Filter
	Part
	columns
)

// A Cell says whether a kind of work has an ability.
type Cell struct {
	Tests []string     // the tests that demonstrate it, such as internal/jobs/job: TestRun or internal/jobs/job: TestRun/part
	Why   setting.Text // why it is refused or meaningless; for a cell with tests, why a part of it is refused
}

// Refused reports whether the work lacks the ability entirely.
func (c Cell) Refused() bool { return len(c.Tests) == 0 && !c.Why.IsZero() }

// Of returns a cell of the table. A zero cell means that no test demonstrates the ability.
func Of(r Row, c Column) Cell { return table()[r][c] }

// Refusal returns an error with the reason why a kind of work lacks an ability or a part of it, nil if there is no such reason.
func Refusal(r Row, c Column) error {
	if why := Of(r, c).Why; !why.IsZero() {
		return setting.Errorf("%s", why)
	}
	return nil
}

// Verifies returns an error for a mode of verification that is not among modes, those of a kind of work.
func Verifies(r Row, mode string, modes ...string) error {
	if slices.Contains(modes, mode) {
		return nil
	}
	err := setting.Errorf("%s %q is invalid: want %s", setting.Verify, mode, strings.Join(modes, " or "))
	for _, c := range []Column{Sample, Files, Full} {
		if why := Of(r, c).Why; mode == c.mode() && !why.IsZero() {
			return setting.Errorf("%w (%s)", err, why)
		}
	}
	return err
}

// Rows returns all kinds of work.
func Rows() []Row { return upTo(rows) }

// Columns returns all abilities.
func Columns() []Column { return upTo(columns) }

func upTo[T ~int](n T) (all []T) {
	for i := range n {
		all = append(all, i)
	}
	return all
}

func (r Row) String() string {
	return [rows]string{"run", "run of several tables", "run that replaces in place", "run that replaces into a new table", "rekey", "undo", "load of a directory", "export", "run that reads a table", "compare", "run for several clusters"}[r]
}

// Command returns the command for the kind of work.
func (r Row) Command() string {
	switch r {
	case Rekey, Undo, Load, Export, Compare:
		return [rows]string{Rekey: "rekey", Undo: "undo", Load: "load", Export: "export", Compare: "compare"}[r]
	}
	return "run"
}

func (c Column) String() string {
	return [columns]string{"this process", "several tables", "shares", "YARN", "a job for each directory", "resume", "another host", "verify sample", "verify files", "verify full", "plan",
		"pause and window", "report", "metrics", "lineage", "status", "clean", "Kerberos", "without replication", "quiet table", "filtered file", "duplicates file", "filter and computed cells", "part of a table"}[c]
}

// mode returns the name of a mode of verification, for the columns that are one.
func (c Column) mode() string {
	mode, _ := strings.CutPrefix(c.String(), "verify ")
	return mode
}

// Setting returns the setting that requests an ability, empty if there is none, with a value that it accepts.
func (c Column) Setting() (name setting.Name, value string) {
	switch c {
	case Shares:
		return setting.Share, "1/2"
	case YARN:
		return setting.Engine, "yarn"
	case SplitBy:
		return setting.SplitBy, "directory"
	case Host:
		return setting.State, "hbase:states"
	case Sample, Files, Full:
		return setting.Verify, c.mode()
	case Pause:
		return setting.OnlyBetween, "22:00-06:00"
	case Report:
		return setting.Report, "report.html"
	case Metrics:
		return setting.MetricsFile, "run.prom"
	case Lineage:
		return setting.OpenLineage, "events.jsonl"
	case Unreplicated:
		return setting.Replicate, "no"
	case Quiet:
		return setting.QuietTable, "true"
	case Filtered:
		return setting.FilteredFile, "filtered.jsonl"
	case Duplicates:
		return setting.DuplicatesFile, "duplicates.jsonl"
	case Filter:
		return setting.Filter, "id != ''"
	case Part:
		return setting.StartRow, "m"
	}
	return "", ""
}

// Lacks returns an error with the reason why a command lacks a setting, nil if the table has none. It is always nil for run.
func Lacks(command string, name setting.Name) error {
	for _, r := range Rows() {
		for _, c := range Columns() {
			if of, _ := c.Setting(); r.Command() == command && command != "run" && of == name && Of(r, c).Refused() {
				return Refusal(r, c)
			}
		}
	}
	return nil
}
