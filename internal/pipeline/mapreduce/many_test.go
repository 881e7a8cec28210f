package mapreduce

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
)

// connections counts the connections of a server.
type connections struct {
	mu        sync.Mutex
	all, most int
	now       map[net.Conn]bool
}

func (c *connections) state(conn net.Conn, s http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch s {
	case http.StateNew:
		c.all++
		c.now[conn] = true
		c.most = max(c.most, len(c.now))
	case http.StateClosed, http.StateHijacked:
		delete(c.now, conn)
	}
}

// open returns the number of open files of this process.
func open(t *testing.T) int {
	t.Helper()
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip(err)
	}
	return len(files)
}

// TestManyTasks checks that monitoring a job of 200 maps and 100 reduces needs as many requests as a job of two, one connection, and
// neither memory nor files per task. The descriptions of tasks are read at the end.
func TestManyTasks(t *testing.T) {
	if testing.Short() {
		t.Skip("takes ten seconds")
	}
	const maps, reduces, polls = 200, 100, 300
	var b bytes.Buffer
	b.WriteString("id,name\n")
	for i := range 320_000 {
		fmt.Fprintf(&b, "k%06d,name %d\n", i, i)
	}
	input := filepath.Join(t.TempDir(), "many.csv")
	if err := os.WriteFile(input, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	var points [][]byte
	for i := 1; i < reduces; i++ {
		points = append(points, fmt.Appendf(nil, "k%06d", i*320_000/reduces))
	}
	at := newBench(t, "exit 1")
	at.pipe = newPiped(t, jobtest.CSVSpec(input), points, maps, reduces)
	if n := len(at.pipe.work.Reduces); at.pipe.work.Maps != maps || n != reduces {
		t.Fatalf("%d maps, %d reduces", at.pipe.work.Maps, n)
	}
	at.Begun, at.manager.id = at.begun(application), application

	count := &connections{now: map[net.Conn]bool{}}
	server := httptest.NewUnstartedServer(at.manager)
	server.Config.ConnState = count.state
	server.Start()
	t.Cleanup(server.Close)
	conf, _ := at.Env.Conf.Env("HADOOP_CONF_DIR")
	site := fmt.Sprintf("<configuration><property><name>yarn.resourcemanager.webapp.address</name><value>%s</value></property></configuration>", strings.TrimPrefix(server.URL, "http://"))
	if err := os.WriteFile(filepath.Join(conf, "yarn-site.xml"), []byte(site), 0o600); err != nil {
		t.Fatal(err)
	}
	var tasks []object
	for i := range maps {
		tasks = append(tasks, taskOf("m", i, "SUCCEEDED", time.Second))
	}
	for i := range reduces {
		tasks = append(tasks, taskOf("r", i, "SUCCEEDED", time.Second))
	}
	at.manager.more = map[string]any{
		ofJob("/counters"): object{"jobCounters": object{}},
		ofJob(""):          job(object{"mapsTotal": maps, "reducesTotal": reduces, "mapsCompleted": maps - 1, "mapsRunning": 1}),
		ofJob("/tasks"):    object{"tasks": object{"task": tasks}},
	}
	var early, late, after [3]int64 // heap, goroutines, files
	look := func() [3]int64 { return [3]int64{testcheck.Heap(), int64(runtime.NumGoroutine()), int64(open(t))} }
	asked := 0
	at.manager.asked = func(m *manager) {
		switch asked++; asked {
		case 10:
			early = look()
		case polls:
			late = look()
			at.commit()
			m.state, m.final = "FINISHED", "SUCCEEDED"
		}
	}
	a, err := at.build(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	after = look()
	if a.Manifests[0].Digest.Rows != 320_000 || len(a.Tasks) != maps+reduces {
		t.Errorf("%d rows, %d tasks", a.Manifests[0].Digest.Rows, len(a.Tasks))
	}
	t.Logf("heap, goroutines, files: %v after 10 polls, %v after %d, %v with all that tasks have said", early, late, polls, after)
	if grown := late[0] - early[0]; grown > 1<<20 {
		t.Errorf("the heap has grown by %d bytes while the job ran", grown)
	}
	if late[1] > early[1]+2 || late[2] > early[2]+2 {
		t.Errorf("goroutines and files have grown from %v to %v", early[1:], late[1:])
	}
	if count.most > 1 {
		t.Errorf("%d connections at a time, %d in all", count.most, count.all)
	}
	for path, n := range at.manager.paths {
		if n > polls && path != "/ws/v1/cluster/apps/"+application || strings.Contains(path, "task_") {
			t.Errorf("%s was asked for %d times", path, n)
		}
	}
	if n := at.manager.paths[ofJob("/tasks")]; n != 1 {
		t.Errorf("the tasks were asked for %d times", n)
	}
	// A map's description lists the regions in which it has rows.
	if grown := after[0] - early[0]; grown > 8<<20 {
		t.Errorf("what 300 tasks have said takes %d bytes", grown)
	}
	runtime.KeepAlive(a)
}
