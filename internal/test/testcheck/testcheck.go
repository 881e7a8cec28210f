package testcheck

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Must ends the test if err is not nil.
func Must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// pause is the shortest time between two calls of Eventually's look. If look takes longer, it is called less often, so that it does not
// slow down the machine.
const pause = 10 * time.Millisecond

// Eventually calls look until the condition holds, and ends the test if it does not hold within the limit. The message has what, which
// names the condition, and the last value of seen. look runs on the goroutine of the caller and may end the test itself.
func Eventually(t testing.TB, limit time.Duration, what string, look func() (ok bool, seen any)) {
	t.Helper()
	deadline := time.Now().Add(limit)
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for {
		began := time.Now()
		ok, seen := look()
		if ok {
			return
		}
		tick.Reset(max(pause, 4*time.Since(began)))
		if time.Now().After(deadline) {
			t.Fatalf("not within %s: %s; seen last: %v", limit, what, seen)
		}
		select {
		case <-tick.C:
		case <-t.Context().Done():
			t.Fatalf("the test ends before: %s; seen last: %v", what, seen)
		}
	}
}

// Heap returns the bytes of the heap that are in use. Memory that other goroutines allocate counts.
func Heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// EnvSeed is the variable with the seed of the tests' random numbers.
const EnvSeed = "BULKLOAD_SEED"

// Seed returns the seed of a test's random numbers: the value of EnvSeed, else one that depends only on the name of the test, so that a
// test is the same each time. A test that fails prints it.
func Seed(t testing.TB) uint64 {
	t.Helper()
	seed := hash(t.Name())
	if text := os.Getenv(EnvSeed); text != "" {
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("%s: %v", EnvSeed, err)
		}
		seed = n
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("%s=%d runs this test with the same random numbers", EnvSeed, seed)
		}
	})
	return seed
}

// Rand returns a source of random numbers from [Seed]. It is not safe for concurrent use.
func Rand(t testing.TB) *rand.Rand {
	t.Helper()
	return rand.New(rand.NewPCG(Seed(t), 0))
}

// Check is rapid.Check with the seed of the test, so that the cases are the same each time; rapid's own seed differs in each run. The
// flag -rapid.seed or RAPID_SEED selects another seed. Checks do not run concurrently.
func Check(t *testing.T, property func(*rapid.T)) {
	t.Helper()
	if f := flag.Lookup("rapid.seed"); f.Value.String() == "0" {
		Must(t, f.Value.Set(strconv.FormatUint(Seed(t), 10)))
		defer func() { Must(t, f.Value.Set("0")) }()
	}
	rapid.Check(t, property)
}

// Name returns a name that is unique to this test and run: letters, digits and underscores, the first a letter. It is for tables,
// directories, jobs and users on a cluster that tests share.
func Name(t testing.TB) string {
	var b strings.Builder
	for _, c := range strings.ToLower(t.Name()) {
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' {
			b.WriteRune(c)
		}
		if b.Len() == 40 {
			break
		}
	}
	return fmt.Sprintf("%s_%x", b.String(), rand.Uint64())
}

func hash(name string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(name))
	return h.Sum64()
}

// Allocated returns the number of bytes that do allocates. No other goroutine may allocate meanwhile.
func Allocated(do func()) int64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return int64(after.TotalAlloc - before.TotalAlloc)
}

// ExpectedTexts returns the lines of a file of JSON: the columns to choose, and each row's texts by column, nil for NULL.
func ExpectedTexts(t testing.TB, name string) (columns []string, rows []map[string]any) {
	t.Helper()
	text, err := os.ReadFile(name)
	Must(t, err)
	d := json.NewDecoder(bytes.NewReader(text))
	Must(t, d.Decode(&columns))
	for d.More() {
		rows = append(rows, nil)
		Must(t, d.Decode(&rows[len(rows)-1]))
	}
	return columns, rows
}

// SameRows compares rows by column, except for columns that are not expected.
func SameRows(t testing.TB, columns []string, got, want []map[string]any) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d rows, want %d", len(got), len(want))
	}
	for i := range want {
		for _, c := range columns {
			if g, w := fmt.Sprintf("%q", got[i][c]), fmt.Sprintf("%q", want[i][c]); g != w {
				t.Fatalf("row %d, column %s:\n%s, want\n%s", i, c, g, w)
			}
		}
	}
}
