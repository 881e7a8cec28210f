package serve

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"bulkload/internal/hbase/cluster"
	"bulkload/internal/jobs/job"
	"bulkload/internal/model/spec"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testcluster"
	"bulkload/pkg/partition"
)

// soak is a service on its own cluster whose correct responses are known.
type soak struct {
	*testing.T
	cluster *testcluster.Cluster
	env     *cluster.Env
	table   string
	base    string
	csv     string
	users   map[string][]string // ids of each user, in order

	mu     sync.Mutex
	counts map[int]int // number of responses by status
	wrong  []string
	late   time.Duration // the longest time of a response
	change string        // the current change
}

const (
	soakUsers   = 60
	soakEach    = 25  // rows of each user
	soakAnswers = 500 // required number of responses with rows
)

// TestSoak sends requests continuously while regions split, move and merge, nights are loaded, a region server is killed, and the table
// is disabled: no response is wrong, and every other one is 503, 504 or 429. BULKLOAD_SOAK is its duration (30 s). TestDeadline checks
// the deadline of requests.
func TestSoak(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("needs a cluster of its own, which -short leaves out")
	}
	lasts, err := time.ParseDuration(cmp.Or(os.Getenv("BULKLOAD_SOAK"), "30s"))
	if err != nil {
		t.Fatal(err)
	}
	s := newSoak(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var callers sync.WaitGroup
	for i := range 12 {
		callers.Go(func() { s.call(ctx, rand.New(rand.NewPCG(uint64(i), 19))) })
	}
	until := time.Now().Add(lasts)
	for round := 0; round == 0 || time.Now().Before(until) || round < 20 && s.answers() < soakAnswers; round++ { // a busy machine takes longer
		s.changes(round)
	}
	// at the end everything is available again
	s.change = "the end"
	s.settled()
	stop()
	callers.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	t.Logf("answers by status: %v; the longest took %s", s.counts, s.late)
	for i, w := range s.wrong {
		if i == 10 {
			t.Errorf("and %d more", len(s.wrong)-i)
			break
		}
		t.Error(w)
	}
	for status := range s.counts {
		if status != 200 && status != 503 && status != 504 && status != 429 {
			t.Errorf("%d answers of status %d", s.counts[status], status)
		}
	}
	if s.counts[200] < soakAnswers {
		t.Errorf("%d answers have rows", s.counts[200])
	}
}

// answers returns the number of responses with rows.
func (s *soak) answers() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts[200]
}

func newSoak(t *testing.T) *soak {
	c := testcluster.Own(t, testcluster.Harmed())
	s := &soak{T: t, cluster: c, env: jobtest.ClusterEnv(t, c), counts: map[int]int{}, users: map[string][]string{}}
	s.table = jobtest.FreshTableAt(t, s.env, partition.SaltSplits(10), nil)
	var b strings.Builder
	b.WriteString("user,id,text\n")
	for u := range soakUsers {
		user := fmt.Sprintf("u%02d", u)
		for i := range soakEach {
			id := fmt.Sprintf("%04d", i)
			fmt.Fprintf(&b, "%s,%s,%s\n", user, id, strings.Repeat("y", 100))
			s.users[user] = append(s.users[user], user+id)
		}
	}
	s.csv = filepath.Join(t.TempDir(), "night.csv")
	if err := os.WriteFile(s.csv, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	s.load()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "users.yaml"), []byte(s.jobText()), 0o644); err != nil {
		t.Fatal(err)
	}
	server, err := Open(Options{Jobs: dir, ProbeEvery: time.Second, Dial: func(ctx context.Context) (Cluster, error) {
		c, err := s.env.Dial(ctx)
		if err != nil {
			return nil, err
		}
		return c, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.base = "http://" + l.Addr().String()
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(ctx, l) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	s.change = "the start"
	s.settled()
	return s
}

func (s *soak) jobText() string {
	return "table: " + s.table + "\nkey: salt(user) + user + '|' + id\nquery: [user]\ncolumns: [user, id, text]\nsalt_buckets: 10\n"
}

// load loads the same rows again, like a night without changes.
func (s *soak) load() {
	s.Helper()
	p, err := spec.ParseSpec("night.yaml", []byte(s.jobText()))
	if err != nil {
		s.Fatal(err)
	}
	p.Inputs = []string{s.csv}
	if _, err := job.Run(s.Context(), s.env, jobtest.Resolve(s.T, *p), job.RunOptions{}); err != nil {
		s.Errorf("a night is not loaded: %v", err)
	}
}

// changes makes the changes of one round.
func (s *soak) changes(round int) {
	admin := s.cluster.AdminT(s.T)
	do := func(what string, args ...string) {
		s.mu.Lock()
		s.change = strings.Join(append([]string{what}, args[1:]...), " ")
		s.mu.Unlock()
		if _, err := admin.Run(s.Context(), append([]string{what}, args...)...); err != nil {
			if round == 0 {
				s.Errorf("%s %q: %v", what, args, err)
			} else { // HBase refuses regions whose parents it has not cleaned up yet
				s.Logf("round %d, %s %q: %v", round, what, args, err)
			}
		}
		s.settled()
	}
	salt := func(n int) string { return fmt.Sprint((round + n) % 10) }
	at := salt(3) + "u3"
	do("move", s.table, salt(1))
	do("split", s.table, at)
	s.change = "a night is loaded"
	s.load()
	do("merge", s.table, salt(5), salt(6))
	do("move", s.table, salt(7))
	do("disable", s.table)
	do("enable", s.table)
	s.mu.Lock()
	s.change = "a region server is killed"
	s.mu.Unlock()
	d := s.cluster.Daemon(testcluster.RegionServer.Nth(round%2 + 1))
	if err := d.Kill(s.Context()); err != nil {
		s.Error(err)
	}
	if err := d.Restart(s.Context()); err != nil {
		s.Error(err)
	}
	if err := s.cluster.WaitReady(s.Context()); err != nil {
		s.Error(err)
	}
	s.settled()
}

// settled waits until every user's rows are returned, unless the table is disabled.
func (s *soak) settled() {
	s.Helper()
	if strings.HasPrefix(s.change, "disable") {
		testcheck.Eventually(s, 3*time.Minute, "the service refuses after "+s.change, func() (bool, any) {
			status, body := s.ask("GET", "/v1/users/rows?user=u00", "")
			return status == 503 && strings.Contains(body, "table-disabled"), fmt.Sprint(status, body)
		})
		return
	}
	testcheck.Eventually(s, 3*time.Minute, "the service answers after "+s.change, func() (bool, any) {
		for user, want := range s.users {
			status, body := s.ask("GET", "/v1/users/rows?user="+user, "")
			if status != 200 {
				return false, fmt.Sprint(user, status, body)
			}
			if got := idsOf(body); !slices.Equal(got, want) {
				s.note(0, "after "+s.change+": "+user+" has "+strings.Join(got, " "))
			}
		}
		return true, nil
	})
}

// call sends random requests and compares the responses with the known rows.
func (s *soak) call(ctx context.Context, rng *rand.Rand) {
	for ctx.Err() == nil {
		user := fmt.Sprintf("u%02d", rng.IntN(soakUsers))
		want := s.users[user]
		switch rng.IntN(4) {
		case 0: // pages
			var got []string
			status, body, page := 200, "", ""
			for status == 200 {
				status, body = s.ask("GET", "/v1/users/rows?limit=7&user="+user+page, "")
				got = append(got, idsOf(body)...)
				if status != 200 || !strings.Contains(body, `"next_page":"`) {
					break
				}
				page = "&page=" + nextOf(body)
			}
			if status == 200 {
				s.hold(ctx, user+" in pages", got, want)
			}
		case 1: // a batch
			other := fmt.Sprintf("u%02d", rng.IntN(soakUsers))
			status, body := s.ask("POST", "/v1/users/rows:batch", fmt.Sprintf(`{"keys":[{"user":%q},{"user":"none"},{"user":%q}]}`, user, other))
			if status == 200 {
				s.hold(ctx, user+" and "+other, idsOf(body), slices.Concat(want, s.users[other]))
			}
		case 2: // over all salts
			status, body := s.ask("GET", "/v1/users/scan?prefix="+user+"&limit=1000", "")
			if status == 200 {
				s.hold(ctx, "a scan of "+user, idsOf(body), want)
			}
		default:
			status, body := s.ask("GET", "/v1/users/rows?user="+user, "")
			if status == 200 {
				s.hold(ctx, user, idsOf(body), want)
			}
		}
	}
}

func (s *soak) hold(ctx context.Context, what string, got, want []string) {
	if ctx.Err() == nil && !slices.Equal(got, want) {
		s.note(0, fmt.Sprintf("while %s: %s: %d rows, want %d: %.200s", s.under(), what, len(got), len(want), strings.Join(got, " ")))
	}
}

func (s *soak) under() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.change
}

// ask returns status and body; for a failed connection the status is −1.
func (s *soak) ask(method, path, body string) (int, string) {
	began := time.Now()
	r, err := http.NewRequest(method, s.base+path, strings.NewReader(body))
	if err != nil {
		return -1, ""
	}
	r.Header.Set("Content-Type", jsonType)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		s.note(-1, err.Error())
		return -1, ""
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		s.note(-1, err.Error())
		return -1, ""
	}
	s.note(resp.StatusCode, "")
	if (resp.StatusCode == 503 || resp.StatusCode == 504 || resp.StatusCode == 429) && resp.Header.Get("Retry-After") == "" {
		s.note(0, "no Retry-After: "+string(b))
	}
	s.mu.Lock()
	s.late = max(s.late, time.Since(began))
	s.mu.Unlock()
	return resp.StatusCode, string(b)
}

// note counts a response, and records wrong ones.
func (s *soak) note(status int, wrong string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if status != 0 {
		s.counts[status]++
	}
	if wrong != "" {
		s.wrong = append(s.wrong, wrong)
	}
}

// idsOf returns user and id of all rows in a response; for a batch, those of all its keys in sequence.
func idsOf(body string) []string {
	type row struct{ User, ID string }
	var answer struct {
		Rows    []row
		Results []struct {
			Rows    []row
			Problem *Problem
		}
	}
	if err := json.NewDecoder(bytes.NewReader([]byte(body))).Decode(&answer); err != nil && !errors.Is(err, io.EOF) {
		return []string{"no JSON"}
	}
	var ids []string
	for _, r := range answer.Rows {
		ids = append(ids, r.User+r.ID)
	}
	for _, result := range answer.Results {
		if result.Problem != nil {
			ids = append(ids, result.Problem.Type)
		}
		for _, r := range result.Rows {
			ids = append(ids, r.User+r.ID)
		}
	}
	return ids
}

func nextOf(body string) string {
	var answer struct {
		Next string `json:"next_page"`
	}
	_ = json.Unmarshal([]byte(body), &answer) // an empty token is refused
	return answer.Next
}
