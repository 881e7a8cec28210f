package profiling

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bulkload/internal/formats/expectation"
	"bulkload/internal/formats/profile"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/source"
)

// orders returns records with columns of several kinds, as lines of CSV.
func orders(r *rand.Rand, n int) []string {
	lines := make([]string, n)
	for i := range lines {
		amount := ""
		if r.IntN(10) > 0 {
			amount = fmt.Sprintf("%.2f", r.Float64()*1000)
		}
		lines[i] = fmt.Sprintf("%08d,%s,%s,%d,20%02d-%02d-11 10:00:00,text %d", 10_000_000+i, []string{"OPEN", "CLOSED", "HELD"}[r.IntN(3)], amount, r.IntN(1<<(1+r.IntN(20))), 10+r.IntN(10), 1+r.IntN(12), r.IntN(5000))
	}
	return lines
}

func writeOrders(t *testing.T, lines []string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "orders.csv")
	testcheck.Must(t, os.WriteFile(name, []byte("id,status,amount,code,made,note\n"+strings.Join(lines, "\n")+"\n"), 0o600))
	return name
}

func profileOf(t *testing.T, s spec.Spec, o Options) *Result {
	t.Helper()
	r, err := Run(t.Context(), jobtest.Env(t).Source, jobtest.Resolve(t, s), o)
	testcheck.Must(t, err)
	return r
}

// TestWorkers checks that any number of workers makes the same profile, byte for byte.
func TestWorkers(t *testing.T) {
	s := jobtest.CSVSpec(writeOrders(t, orders(testcheck.Rand(t), 30_000)))
	want := ""
	for _, workers := range []int{1, 4, 7, 1} {
		r := profileOf(t, s, Options{Workers: workers, splitSize: 64 << 10, Expect: true})
		b, err := json.Marshal([]any{r.Profile, r.Expect})
		testcheck.Must(t, err)
		if want == "" {
			want = string(b)
		}
		if string(b) != want || r.Profile.Parts < 20 {
			t.Fatalf("%d workers, %d parts:\n%s\nwant\n%s", workers, r.Profile.Parts, b, want)
		}
	}
}

// met builds with the expectations and returns those that are not met.
func met(t *testing.T, s spec.Spec, list []expectation.Asked) (bad []string) {
	t.Helper()
	section, err := expectation.Write(list)
	testcheck.Must(t, err)
	parsed, err := spec.ParseSpec("the job file", section)
	testcheck.Must(t, err)
	s.Expectations = parsed.Expectations
	in, err := build.OpenInput(t.Context(), jobtest.Env(t).Source, jobtest.Resolve(t, s), build.WorkOptions{Workers: 2})
	testcheck.Must(t, err)
	defer in.Close()
	counter, err := expectation.NewCounter(in.Checks(), in.Source.Columns(), 64<<20, time.Now())
	testcheck.Must(t, err)
	tally, reader := counter.Tally(), in.Source.NewReader()
	for split := range in.Source.Splits() {
		testcheck.Must(t, reader.Read(t.Context(), split, func(b *source.Batch) error {
			for row := range b.Rows {
				build.Count(tally, b, row, b.Nulls())
			}
			return nil
		}))
	}
	tally.End()
	judged, err := counter.Counts().Judge(in.Checks(), nil)
	testcheck.Must(t, err)
	for _, f := range judged.Findings {
		if f.Bad() {
			bad = append(bad, f.Column+" "+string(f.Kind)+" "+f.Severity)
		}
	}
	return bad
}

// TestExpectations checks that the same input meets the derived expectations, and a damaged one does not.
func TestExpectations(t *testing.T) {
	lines := orders(testcheck.Rand(t), 5000)
	s := jobtest.CSVSpec(writeOrders(t, lines))
	list := profileOf(t, s, Options{Expect: true}).Expect
	if bad := met(t, s, list); bad != nil {
		t.Fatal(bad)
	}
	harm := func(i int, from, to string) { lines[i] = strings.Replace(lines[i], from, to, 1) }
	for _, c := range []struct {
		harm func()
		want string
	}{
		{func() {}, "[]"},
		{func() { lines[70] = lines[71] }, "[id unique fail]"},
		{func() { harm(9, "10000009", "") }, "[id nulls fail]"},
		{func() { harm(9, "10000009", "1000009") }, "[id matches fail]"},
		{func() { lines[0] = "10000000,LOST,5,1,2015-01-01 10:00:00,x" }, "[status values warn]"},
		{func() { lines[0] = "10000000,OPEN,5e9,1,2015-01-01 10:00:00,x" }, "[amount max warn]"},
		{func() { lines[0] = "10000000,OPEN,-5,1,2015-01-01 10:00:00,x" }, "[amount min warn]"},
		{func() { lines[0] = "10000000,OPEN,5,1,0001-01-01 10:00:00,x" }, "[made min warn]"},
		{func() { lines = lines[:2000] }, "[ rows fail]"},
	} {
		before := append([]string{}, lines...)
		c.harm()
		s.Inputs = []string{writeOrders(t, lines)}
		if bad := fmt.Sprint(met(t, s, list)); bad != c.want {
			t.Errorf("not met: %s, want %s", bad, c.want)
		}
		lines = before
	}
}

// TestNotUnique checks a duplicate that the profile does not detect but the second reading does.
func TestNotUnique(t *testing.T) {
	lines := orders(testcheck.Rand(t), 5000)
	lines[4000] = lines[30]
	s := jobtest.CSVSpec(writeOrders(t, lines))
	r := profileOf(t, s, Options{Expect: true})
	if bad := met(t, s, r.Expect); bad != nil {
		t.Error(bad)
	}
	if id := r.Expect[1]; id.Column != "id" || id.Unique || id.Matches == "" || !r.Profile.Expect(time.Now())[1].Unique {
		t.Errorf("%+v", id)
	}
}

// TestBadRecords checks that bad records are counted as in a build, and that filtered records are left out.
func TestBadRecords(t *testing.T) {
	lines := orders(testcheck.Rand(t), 3000)
	lines[5], lines[700] = "1,2", "a,b,c,d,e,f,g"
	s := jobtest.CSVSpec(writeOrders(t, lines))
	_, err := Run(t.Context(), jobtest.Env(t).Source, jobtest.Resolve(t, s), Options{})
	if fail.KindOf(err) != fail.BadRows {
		t.Fatal(err)
	}
	s.BadRecords, s.Filter = "2", "status != 'HELD'"
	r := profileOf(t, s, Options{Expect: true, splitSize: 32 << 10})
	held := int64(strings.Count(strings.Join(lines, "\n"), ",HELD,"))
	if p := r.Profile; p.Rejected != 2 || p.Filtered != held || p.Records != 2998-held || p.Columns[1].Distinct != 2 {
		t.Errorf("%d records, %d bad, %d filtered; %+v", p.Records, p.Rejected, p.Filtered, p.Columns[1])
	}
	s.BadRecords = "1"
	if _, err = Run(t.Context(), jobtest.Env(t).Source, jobtest.Resolve(t, s), Options{}); fail.KindOf(err) != fail.BadRows {
		t.Error(err)
	}
}

// TestMasked checks that values that the job masks in its cells are not in the profile.
func TestMasked(t *testing.T) {
	s := jobtest.CSVSpec(writeOrders(t, orders(testcheck.Rand(t), 100)))
	s.SaltFile = filepath.Join(t.TempDir(), "salt")
	testcheck.Must(t, os.WriteFile(s.SaltFile, []byte("0123456789abcdef0123456789abcdef"), 0o600))
	s.Cells = []spec.CellSpec{{Qualifier: "n", Expr: "salted(upper(note))"}, {Rest: true}}
	for _, c := range profileOf(t, s, Options{}).Profile.Columns {
		if c.Hidden != (c.Name == "note") || c.Hidden != (c.Min == "") {
			t.Errorf("%+v", c)
		}
	}
	s.Cells = nil
	for hide, want := range map[string]string{"amount,id": "id amount ", "all": "id status amount code made note ", "": "code "} {
		got := ""
		secret := func(name string) bool { return hide == "" && name == "code" }
		for _, c := range profileOf(t, s, Options{Hide: strings.FieldsFunc(hide, func(c rune) bool { return c == ',' }), Secret: secret}).Profile.Columns {
			if c.Hidden {
				got += c.Name + " "
			}
		}
		if got != want {
			t.Errorf("hide %q: %s", hide, got)
		}
	}
	_, err := Run(t.Context(), jobtest.Env(t).Source, jobtest.Resolve(t, s), Options{Hide: []string{"ammount"}})
	if fail.KindOf(err) != fail.Config {
		t.Errorf("a column that is not there is hidden: %v", err)
	}
}

// TestShare reads parts that are spread over the input, and derives no expectation that fails a job.
func TestShare(t *testing.T) {
	lines := orders(testcheck.Rand(t), 20_000)
	s := jobtest.CSVSpec(writeOrders(t, lines))
	r := profileOf(t, s, Options{Share: 0.2, splitSize: 16 << 10, Expect: true})
	p := r.Profile
	if p.Whole() || p.Parts < p.OfParts/6 || p.Parts > p.OfParts/4 || p.Records < 20_000/7 || p.Records > 20_000/3 {
		t.Errorf("%d of %d parts, %d records", p.Parts, p.OfParts, p.Records)
	}
	for _, a := range r.Expect {
		if a.Severity != expectation.Warn || a.Rows != nil {
			t.Errorf("%+v", a)
		}
	}
	for _, c := range []struct {
		n     int
		share float64
		want  string
	}{{10, 1, "[0 1 2 3 4 5 6 7 8 9]"}, {10, 0, "[0 1 2 3 4 5 6 7 8 9]"}, {10, 0.3, "[1 5 8]"}, {1, 0.01, "[0]"}, {0, 0.5, "[]"}} {
		if got := fmt.Sprint(chosen(c.n, c.share)); got != c.want {
			t.Errorf("%v of %d parts: %s, want %s", c.share, c.n, got, c.want)
		}
	}
}

// TestBadRecordsOfShare judges a share of bad records against the records of the parts that are read: splits before them are read only for the number
// of the first bad record.
func TestBadRecordsOfShare(t *testing.T) {
	lines := orders(testcheck.Rand(t), 8000)
	parts := Options{Workers: 1, Share: 0.2, splitSize: 16 << 10}
	s := jobtest.CSVSpec(writeOrders(t, lines))
	for i := 3000; i < 4500; i++ { // in a chosen part, whatever the lengths of the others
		lines[i] = strings.Repeat("x", 60)
	}
	s.BadRecords = "100%"
	s.Inputs = []string{writeOrders(t, lines)}
	p := profileOf(t, s, parts).Profile
	if p.Rejected == 0 || p.Records < 800 || p.Records > 2500 {
		t.Fatalf("%d records, %d bad", p.Records, p.Rejected)
	}
	for _, c := range []struct {
		tenths int64 // of the percentage of bad records
		ok     bool
	}{{11, true}, {9, false}} {
		s.BadRecords = fmt.Sprintf("%.4f%%", float64(c.tenths*10*p.Rejected)/float64(p.Records+p.Rejected))
		_, err := Run(t.Context(), jobtest.Env(t).Source, jobtest.Resolve(t, s), parts)
		if ok := err == nil; ok != c.ok || !ok && !strings.Contains(err.Error(), fmt.Sprintf("%d of %d records are bad", p.Rejected, p.Records+p.Rejected)) {
			t.Errorf("%s: %v", s.BadRecords, err)
		}
	}
}

// TestStopped checks that the end of the context is the error, also for workers that wait for parts of others.
func TestStopped(t *testing.T) {
	m := newMerger(1, 2)
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	ended := make(chan error)
	go func() {
		_, err := m.tally(ctx, 5)
		ended <- err
	}()
	cancel(why)
	if err := <-ended; !errors.Is(err, why) {
		t.Error(err)
	}
}

// TestWide checks that a profile of many columns keeps fewer parts open if memory is short, with the same result, and is refused, with the memory
// that it needs, if there is no room for one.
func TestWide(t *testing.T) {
	const columns = 3000
	var lines []string
	for i := range 41 {
		values := make([]string, columns)
		for c := range values {
			values[c] = fmt.Sprint(i * c)
			if i == 0 {
				values[c] = fmt.Sprintf("c%d", c)
			}
		}
		lines = append(lines, strings.Join(values, ","))
	}
	name := filepath.Join(t.TempDir(), "wide.csv")
	testcheck.Must(t, os.WriteFile(name, []byte(strings.Join(lines, "\n")+"\n"), 0o600))
	s := jobtest.CSVSpec(name)
	want := ""
	for memory, open := range map[spec.Size]int{64 << 20: 1, 3 * spec.Size(profile.Memory(columns)): 2, 4 << 30: 4} {
		if got := openParts(columns, build.Options{Workers: 2, Memory: memory}); got != open {
			t.Errorf("memory %s: %d open parts, want %d", memory, got, open)
		}
		r := profileOf(t, s, Options{Workers: 2, Memory: memory, splitSize: 64 << 10})
		b, err := json.Marshal(r.Profile)
		testcheck.Must(t, err)
		if want == "" {
			want = string(b)
		}
		if string(b) != want || r.Profile.Parts < 4 {
			t.Errorf("memory %s: %d parts, another profile", memory, r.Profile.Parts)
		}
	}
}
