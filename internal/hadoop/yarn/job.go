package yarn

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Job is the MapReduce job of an application.
type Job struct {
	ID    string
	State string // RUNNING, SUCCEEDED, FAILED, KILLED and others of JobState
	// Maps and Reduces are the numbers of tasks, MapsDone and ReducesDone those of successful tasks.
	Maps        int `json:"mapsTotal"`
	MapsDone    int `json:"mapsCompleted"`
	Reduces     int `json:"reducesTotal"`
	ReducesDone int `json:"reducesCompleted"`
	// MapsRunning and ReducesRunning are the numbers of tasks with a running attempt; zero after the job has ended.
	MapsRunning, ReducesRunning int
	Failed                      int `json:"-"` // number of attempts; their tasks may have succeeded
}

// Task is one task of a job.
type Task struct {
	ID      string
	Map     bool          `json:"-"` // otherwise a reduce
	Number  int           `json:"-"` // from 0; the partition of a reduce
	State   string        // SCHEDULED, RUNNING, SUCCEEDED, FAILED, KILLED
	Elapsed time.Duration `json:"-"`
	// Successful is the attempt whose output was committed, empty if there is none.
	Successful string `json:"successfulAttempt"`
}

// Attempt is one attempt at a task.
type Attempt struct {
	ID        string
	Number    int    `json:"-"` // from 0
	State     string // RUNNING, COMMIT_PENDING, SUCCEEDED, FAILED, KILLED and others of TaskAttemptState
	Status    string // the last reported status
	Container string `json:"assignedContainerId"` // its id; empty before it is allocated
	Node      string `json:"nodeHttpAddress"`     // host:port of the NodeManager's web server
	// Diagnostics is Java's description of a failure; [Client.Log] returns the program's output.
	Diagnostics string
}

// Counter is one counter of a job or an attempt.
type Counter struct {
	Group, Name string
	Total       int64
	Map, Reduce int64 // only for a job
}

var (
	taskID      = regexp.MustCompile(`^task_([0-9]{1,19}_[0-9]{1,10})_[mr]_[0-9]{1,10}$`)
	attemptID   = regexp.MustCompile(`^attempt_([0-9]{1,19}_[0-9]{1,10})_[mr]_[0-9]{1,10}_[0-9]{1,10}$`)
	containerID = regexp.MustCompile(`^container_(e[0-9]{1,10}_)?[0-9]{1,19}_[0-9]{1,10}_[0-9]{1,10}_[0-9]{1,19}$`)
)

// JobID returns the id of an application's MapReduce job, or "" if application is not a valid id.
func JobID(application string) string {
	m := applicationID.FindStringSubmatch(application)
	if m == nil {
		return ""
	}
	return "job_" + m[1]
}

// Job returns the job of an application: from the ApplicationMaster while it runs, afterwards from the history server.
// Between the two, and before the ApplicationMaster runs, the error is ErrUnknown for a moment. It is ErrUnreachable too if the history server, which may
// know the job, does not answer.
func (c *Client) Job(ctx context.Context, application string) (Job, error) {
	var out struct {
		Job struct {
			Job
			FailedMapAttempts, FailedReduceAttempts int
		}
	}
	if err := c.mapreduce(ctx, application, "", &out); err != nil {
		return Job{}, err
	}
	j := out.Job
	if j.ID != JobID(application) {
		return Job{}, fmt.Errorf("%s: the answer is of another job: %w", application, ErrUnreachable)
	}
	j.Failed = j.FailedMapAttempts + j.FailedReduceAttempts
	return j.Job, nil
}

// Tasks returns all tasks of a job, maps first, each kind by number.
func (c *Client) Tasks(ctx context.Context, application string) ([]Task, error) {
	type wire struct {
		Task
		Type        string
		ElapsedTime int64
	}
	var out struct{ Tasks struct{ Task list[wire] } }
	if err := c.mapreduce(ctx, application, "/tasks", &out); err != nil {
		return nil, err
	}
	tasks := make([]Task, 0, len(out.Tasks.Task))
	for _, w := range out.Tasks.Task {
		if !taskID.MatchString(w.ID) {
			continue
		}
		w.Map, w.Number, w.Elapsed = w.Type == "MAP", int(number(w.ID)), milliseconds(w.ElapsedTime)
		tasks = append(tasks, w.Task)
	}
	slices.SortFunc(tasks, func(a, b Task) int {
		if a.Map != b.Map {
			if a.Map {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.Number, b.Number)
	})
	return tasks, nil
}

// Attempts returns the attempts of a task, by number.
func (c *Client) Attempts(ctx context.Context, application, task string) ([]Attempt, error) {
	if !taskID.MatchString(task) {
		return nil, fmt.Errorf("%q is not a task id", task)
	}
	var out struct {
		TaskAttempts struct{ TaskAttempt list[Attempt] }
	}
	if err := c.mapreduce(ctx, application, "/tasks/"+task+"/attempts", &out); err != nil {
		return nil, err
	}
	var attempts []Attempt
	for _, a := range out.TaskAttempts.TaskAttempt {
		if attemptID.MatchString(a.ID) {
			a.Number, a.Diagnostics = int(number(a.ID)), strings.TrimSpace(a.Diagnostics)
			attempts = append(attempts, a)
		}
	}
	slices.SortFunc(attempts, func(a, b Attempt) int { return cmp.Compare(a.Number, b.Number) })
	return attempts, nil
}

func milliseconds(ms int64) time.Duration { return time.Duration(max(ms, 0)) * time.Millisecond }

// Counters returns the counters of a job. Attempts that failed or were killed do not count.
func (c *Client) Counters(ctx context.Context, application string) ([]Counter, error) {
	var out struct {
		JobCounters struct {
			CounterGroup list[struct {
				CounterGroupName string
				Counter          list[struct {
					Name                                                   string
					TotalCounterValue, MapCounterValue, ReduceCounterValue int64
				}]
			}]
		}
	}
	if err := c.mapreduce(ctx, application, "/counters", &out); err != nil {
		return nil, err
	}
	var all []Counter
	for _, g := range out.JobCounters.CounterGroup {
		for _, k := range g.Counter {
			all = append(all, Counter{Group: g.CounterGroupName, Name: k.Name, Total: k.TotalCounterValue, Map: k.MapCounterValue, Reduce: k.ReduceCounterValue})
		}
	}
	return all, nil
}

// mapreduce sends a request about a job: to the ApplicationMaster through the ResourceManager's proxy, and if that
// redirects because there is no ApplicationMaster, to the history server.
func (c *Client) mapreduce(ctx context.Context, application, below string, out any) error {
	job := JobID(application)
	if job == "" {
		return fmt.Errorf("%q is not an application id", application)
	}
	a, live := c.manager(ctx, request{path: "/proxy/" + application + "/ws/v1/mapreduce/jobs/" + job + below})
	if live == nil {
		if live = a.decode(out); live == nil {
			return nil
		}
		if a.status/100 == 3 || errors.Is(live, ErrUnreachable) {
			// The ApplicationMaster has ended, has not started, or is just ending.
			live = &Error{URL: a.url, Status: a.status, Why: "no ApplicationMaster runs", Err: ErrUnknown}
		}
	}
	if c.options.History == "" || ctx.Err() != nil {
		return live
	}
	a, err := c.ask(ctx, c.options.History, request{path: "/ws/v1/history/mapreduce/jobs/" + job + below})
	if err == nil {
		err = a.decode(out)
	}
	if err != nil {
		return errors.Join(err, live)
	}
	return nil
}
