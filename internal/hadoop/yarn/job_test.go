package yarn

import (
	"errors"
	"strings"
	"testing"
)

const (
	jobJSON = `{"job":{"submitTime":1795370940432,"startTime":1795370955728,"finishTime":1795370971721,"id":"` + job + `","name":"n","queue":"root.default",` +
		`"user":"root","state":"SUCCEEDED","mapsTotal":4,"mapsCompleted":3,"reducesTotal":2,"reducesCompleted":1,"uberized":false,"diagnostics":""}}`
	tasksJSON = `{"tasks":{"task":[{"startTime":1795370964906,"finishTime":1795370971610,"elapsedTime":6704,"progress":100.0,"id":"` + reduce + `",` +
		`"state":"SUCCEEDED","type":"REDUCE","successfulAttempt":"` + attempt + `"},{"startTime":1795370957576,"elapsedTime":6546,"progress":50.0,` +
		`"id":"task_1795370865323_0001_m_000010","state":"RUNNING","type":"MAP"},{"id":"task_1795370865323_0001_m_000002","state":"RUNNING","type":"MAP"}]}}`
	attemptsJSON = `{"taskAttempts":{"taskAttempt":[{"startTime":1795370964906,"finishTime":1795370971610,"elapsedTime":6704,"progress":100.0,` +
		`"id":"` + attempt + `","rack":"/default-rack","state":"SUCCEEDED","status":"Records R/W=3/1 > reduce","nodeHttpAddress":"NODE","diagnostics":"",` +
		`"type":"REDUCE","assignedContainerId":"` + holder + `","shuffleFinishTime":1795370970485,"mergeFinishTime":1795370970531,"elapsedShuffleTime":5579,` +
		`"elapsedMergeTime":46,"elapsedReduceTime":1079}]}}`
	countersJSON = `{"jobCounters":{"id":"` + job + `","counterGroup":[{"counterGroupName":"org.apache.hadoop.mapreduce.TaskCounter","counter":[` +
		`{"name":"REDUCE_SHUFFLE_BYTES","totalCounterValue":21,"mapCounterValue":0,"reduceCounterValue":21}]}]}}`
	logPage = "Container: " + holder + " on localhost_18945\nLogAggregationType: AGGREGATED\n====\nLogType:stderr\n" +
		"LogLastModifiedTime:Sun Nov 22 18:09:40 +0000 2026\nLogLength:36\nLogContents:\nbad record at byte 77\nEnd of LogType:stderr is mine\n" +
		"\nEnd of LogType:stderr\n***********************************************************************\n\n\n"
)

func TestJobs(t *testing.T) {
	live, past := "GET /proxy/"+app+"/ws/v1/mapreduce/jobs/"+job, "GET /ws/v1/history/mapreduce/jobs/"+job
	for name, c := range map[string]struct{ live, past bool }{"running": {true, false}, "ended": {false, true}} {
		manager, history := map[string]string{}, map[string]string{}
		for path, text := range map[string]string{
			"": jobJSON, "/tasks": tasksJSON, "/tasks/" + reduce + "/attempts": attemptsJSON, "/counters": countersJSON,
		} {
			if c.live {
				manager[live+path] = text
			} else {
				manager[live+path] = "302|http://elsewhere.invalid/jobhistory"
			}
			if c.past {
				history[past+path] = text
			}
		}
		m, h := server(t, manager), server(t, history)
		k := client(t, Options{Addresses: Addresses{ResourceManagers: []string{m.URL}, History: h.URL}})
		ctx := t.Context()
		if j, err := k.Job(ctx, app); err != nil || j.ID != job || j.Maps != 4 || j.MapsDone != 3 || j.Reduces != 2 || j.ReducesDone != 1 {
			t.Errorf("%s: %+v, %v", name, j, err)
		}
		tasks, err := k.Tasks(ctx, app)
		if err != nil || len(tasks) != 3 || !tasks[0].Map || tasks[0].Number != 2 || tasks[1].Number != 10 || tasks[2].Map || tasks[2].Successful != attempt {
			t.Errorf("%s: %+v, %v", name, tasks, err)
		}
		attempts, err := k.Attempts(ctx, app, reduce)
		if err != nil || len(attempts) != 1 || attempts[0].Container != holder || attempts[0].Number != 0 {
			t.Errorf("%s: %+v, %v", name, attempts, err)
		}
		if counters, err := k.Counters(ctx, app); err != nil || len(counters) != 1 || counters[0].Reduce != 21 {
			t.Errorf("%s: %+v, %v", name, counters, err)
		}
	}
	m, h := server(t, nil), server(t, nil)
	k := client(t, Options{Addresses: Addresses{ResourceManagers: []string{m.URL}, History: h.URL}})
	if _, err := k.Job(t.Context(), app); !errors.Is(err, ErrUnknown) {
		t.Errorf("%v", err)
	}
}

func TestLog(t *testing.T) {
	const want = "bad record at byte 77\nEnd of LogType:stderr is mine\n"
	path := "/containerlogs/" + holder + "/stderr"
	node := server(t, map[string]string{"GET /ws/v1/node" + path: logPage})
	moved := server(t, map[string]string{"GET /ws/v1/node" + path: "307|http://elsewhere.invalid/"})
	history := server(t, map[string]string{"GET /ws/v1/history" + path: logPage})
	denied := server(t, map[string]string{"GET /ws/v1/history" + path: "403|no"})
	none := server(t, nil)
	for name, c := range map[string]struct {
		node, history, want string
		err                 error
	}{
		"at the node":    {node.URL, none.URL, want, nil},
		"in the history": {moved.URL, history.URL, want, nil},
		"no node known":  {"", history.URL, want, nil},
		"nowhere":        {none.URL, none.URL, "", ErrUnknown},
		"no history":     {moved.URL, "", "", ErrUnknown},
		"not mine":       {"", denied.URL, "", ErrDenied},
	} {
		k := client(t, Options{Addresses: Addresses{ResourceManagers: []string{none.URL}, History: c.history}})
		a := Attempt{ID: attempt, Container: holder, Node: strings.TrimPrefix(c.node, "http://")}
		got, err := k.Log(t.Context(), a, "stderr", 1000)
		if string(got) != c.want || !errors.Is(err, c.err) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		if got, err := k.Log(t.Context(), a, "stderr", 5); c.err == nil && (err != nil || string(got) != "mine\n") {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	k := client(t, Options{Addresses: Addresses{ResourceManagers: []string{none.URL}}})
	if _, err := k.Log(t.Context(), Attempt{ID: attempt}, "stderr", 10); !errors.Is(err, ErrUnknown) {
		t.Errorf("no container: %v", err)
	}
	for _, bad := range []string{"", "../stderr", "a?b", ".x"} {
		if _, err := k.Log(t.Context(), Attempt{ID: attempt, Container: holder}, bad, 10); err == nil || errors.Is(err, ErrUnknown) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	for text, want := range map[string]string{"LogContents:\n\nEnd of LogType:stderr\n": "", "LogContents:\nEnd of LogType:x": "", "LogContents:\nab": "ab"} {
		if got, ok := logText([]byte(text), 10); !ok || string(got) != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}

func FuzzAnswers(f *testing.F) {
	for _, text := range []string{jobJSON, tasksJSON, attemptsJSON, countersJSON, `{"apps":{"app":` + appJSON + `}}`, logPage} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		a := answer{"u", 200, body}
		var apps struct{ App list[wireApp] }
		if a.decode(&apps) == nil {
			for _, w := range apps.App {
				w.application()
			}
		}
		if text, ok := logText(body, 10); ok && len(text) > 10 {
			t.Errorf("%d bytes", len(text))
		}
		_ = refusal("u", 500, body).Error()
	})
}
