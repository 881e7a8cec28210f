package report

import (
	"fmt"
	"strings"

	"bulkload/internal/model/result"
	"bulkload/pkg/setting"
)

// Limits of the tasks in a report: visible at first, and in total. The file of tasks has all of them.
const (
	firstTasks = 10
	maxTasks   = 1000
)

// tasksOf lists the tasks of a job on YARN: the stragglers, then the others, each group in descending order of
// duration.
func tasksOf(y *result.YARN) *taskList {
	if y == nil {
		return nil
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%s: %s and %s, %s shuffled", y.Application, setting.Count(y.Maps, "map"), setting.Count(y.Reduces, "reduce"), setting.Bytes(y.Shuffled))
	switch {
	case y.Failed == 1:
		text.WriteString(", 1 attempt failed and was made again")
	case y.Failed > 1:
		fmt.Fprintf(&text, ", %s failed and were made again", setting.Count(y.Failed, "attempt"))
	}
	if y.Stragglers > 0 {
		fmt.Fprintf(&text, ", %d took twice as long as half of their kind", y.Stragglers)
	}
	all := y.Slowest(maxTasks)
	first := min(len(all), firstTasks)
	return &taskList{Text: text.String() + ".", First: all[:first], Rest: all[first:], More: len(y.Tasks) - len(all)}
}
