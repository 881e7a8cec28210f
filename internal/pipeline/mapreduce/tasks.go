package mapreduce

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"bulkload/internal/hadoop/yarn"
	"bulkload/internal/model/result"
)

// Kinds of a [result.Task].
const (
	kindMap    = "map"
	kindReduce = "reduce"
)

// stragglerTime is the minimum excess over the median for a straggler.
const stragglerTime = 10 * time.Second

// clockTime is the time limit for the servers' answers.
const clockTime = 10 * time.Second

// runs collects the statistics of all tasks. Maps are in the order of the input and reduces in the order of the regions.
func runs(a *Adopted) (all []result.Task) {
	for _, m := range a.Maps {
		r := taskRun(m.Attempt, m.Ran)
		r.Kind, r.Rows, r.Rejected, r.Bytes = kindMap, m.Records, m.Rejected, m.Ran.Read
		all = append(all, r)
	}
	for _, d := range a.Reduces {
		r := taskRun(d.Attempt, d.Ran)
		r.Kind = kindReduce
		for _, s := range d.streamed() {
			r.Rows += s.Digest.Rows
			for _, f := range s.Files {
				r.Bytes += f.Bytes
			}
		}
		all = append(all, r)
	}
	return all
}

// taskRun returns the statistics of a task without its kind and its amounts. Attempts are counted up to the successful one, without later
// speculative attempts and attempts of an ApplicationMaster that is gone. It parses the numbers of a task and of its attempt from the attempt's id: with the n-th ApplicationMaster, attempts are
// numbered from 1000 (n-1).
func taskRun(attempt string, ran Ran) result.Task {
	r := result.Task{Node: ran.Node, Shuffled: ran.Shuffled, Program: max(ran.Ended.Sub(ran.Began), 0), Attempts: 1}
	r.Wall = r.Program
	if parts := strings.Split(attempt, "_"); len(parts) == 6 {
		r.Number, _ = strconv.Atoi(parts[4])
		try, _ := strconv.Atoi(parts[5])
		r.Attempts = try%1000 + 1
	}
	return r
}

// clock gets the time of each task from the servers that have monitored it: the ApplicationMaster, or the history server after its end. It is
// not an error if they do not answer.
func (e *Engine) clock(ctx context.Context, application string, all []result.Task) {
	ctx, cancel := context.WithTimeout(ctx, clockTime)
	defer cancel()
	if tasks, err := e.yarn.Tasks(ctx, application); err == nil {
		timeTasks(tasks, all)
	}
	markStragglers(all)
}

func timeTasks(tasks []yarn.Task, all []result.Task) {
	type id struct {
		isMap  bool
		number int
	}
	took := map[id]time.Duration{}
	for _, t := range tasks {
		took[id{t.Map, t.Number}] = t.Elapsed
	}
	for i := range all {
		all[i].Wall = max(took[id{all[i].Kind == kindMap, all[i].Number}], all[i].Wall)
	}
}

func markStragglers(all []result.Task) {
	for _, kind := range []string{kindMap, kindReduce} {
		var walls []time.Duration
		for _, r := range all {
			if r.Kind == kind {
				walls = append(walls, r.Wall)
			}
		}
		if len(walls) == 0 {
			continue
		}
		slices.Sort(walls)
		median := walls[(len(walls)-1)/2]
		for i, r := range all {
			if r.Kind == kind {
				all[i].Straggler = r.Wall > 2*median && r.Wall > median+stragglerTime
			}
		}
	}
}
