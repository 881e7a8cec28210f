package partition

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testcluster"

	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { testcluster.Main(m) }

// TestVectors compares split points with the output of HBase's RegionSplitter.
func TestVectors(t *testing.T) {
	for plan, want := range map[string]string{
		"hex:10":     "19999999 33333332 4ccccccb 66666664 7ffffffd 99999996 b333332f ccccccc8 e6666661",
		"decimal:10": "10000000 20000000 30000000 40000000 50000000 60000000 70000000 80000000 90000000",
		"decimal:16": "06250000 12500000 18750000 25000000 31250000 37500000 43750000 50000000 56250000 62500000 68750000 75000000 81250000 87500000 93750000",
		"salt:4":     "1 2 3",
		"md5:2":      "3fffffff",
		"bytesalt:4": "\x01 \x02 \x03",
		"bytesalt:1": "",
		"javasalt:1": "",
		"javasalt:3": "\x01 \x02 \xfe \xff",
		"hex:1":      "",
		"a,b\\x3Ac":  "a b:c",
		"hex\\x3A10": "hex:10",
		"":           "",
	} {
		got, err := ParsePlan(plan)
		if err != nil || string(bytes.Join(got, []byte(" "))) != want {
			t.Errorf("%s: %q %v", plan, got, err)
		}
	}
	if got, _ := ParsePlan("uniform:3"); fmt.Sprintf("%x", got) != "[5555555555555555 aaaaaaaaaaaaaaaa]" {
		t.Errorf("%x", got)
	}
	if got, _ := ParsePlan("uniform:10"); fmt.Sprintf("%x", got[0]) != "1999999999999999" {
		t.Errorf("%x", got)
	}
	if got, _ := ParsePlan("salt:50"); string(got[0]) != "01" || string(got[48]) != "49" {
		t.Errorf("%q", got)
	}
	for _, bad := range []string{"hex:0", "hex:x", "hax:10", "hex:100001", "salt:-1", "bytesalt:257", "javasalt:0", "javasalt:257", "b,a"} {
		if got, err := ParsePlan(bad); err == nil {
			t.Errorf("%s: %q", bad, got)
		}
	}
}

// TestAlgorithmsRise checks that every algorithm returns the requested number of rising
// split points.
func TestAlgorithmsRise(t *testing.T) {
	for _, a := range algorithms() {
		for _, n := range []int{1, 2, 3, 7, 16, 100, 1999, 65536, MaxRegions} {
			if n > a.most {
				continue
			}
			points := a.make(n)
			want := n - 1
			if a.name == "javasalt" {
				want = 2 * (n - 1)
			}
			if _, err := New(points); err != nil || len(points) != want {
				t.Errorf("%s:%d: %d points, %v", a.name, n, len(points), err)
			}
			if a.name == "salt" && n > 1 && SaltModulus(points) != n {
				t.Errorf("salt:%d gives modulus %d", n, SaltModulus(points))
			}
		}
	}
}

// TestSplitsOfHBase compares with HBase's own classes for 2 to 2000 regions.
func TestSplitsOfHBase(t *testing.T) {
	out, err := testcluster.Shared(t).JavaClass(t.Context(), "Splits", "2000")
	if err != nil {
		t.Fatal(err)
	}
	all := algorithms()
	lines := 0
	for line := range strings.Lines(out) {
		f := strings.Fields(line)
		i := slices.IndexFunc(all, func(a algorithm) bool { return a.name == f[0] })
		var n int
		if _, err := fmt.Sscan(f[1], &n); err != nil || i < 0 {
			t.Fatalf("%q: %v", line, err)
		}
		got := make([]string, n-1)
		for k, p := range all[i].make(n) {
			got[k] = fmt.Sprintf("%x", p)
		}
		if !slices.Equal(got, f[2:]) {
			t.Errorf("%s:%d differs from HBase", f[0], n)
		}
		lines++
	}
	if lines != 3*1999 {
		t.Errorf("%d lines", lines)
	}
}

// TestList checks that ParsePlan parses the output of List, for any points.
func TestList(t *testing.T) {
	testcheck.Check(t, func(t *rapid.T) {
		points := rapid.SliceOfDistinct(rapid.SliceOfN(rapid.SampledFrom([]byte("a@:,\\ =\xff\x00hex1")), 1, 6), func(b []byte) string { return string(b) }).Draw(t, "points")
		slices.SortFunc(points, bytes.Compare)
		text := List(points)
		got, err := ParsePlan(text)
		if err != nil || !slices.EqualFunc(got, points, bytes.Equal) || strings.HasPrefix(text, "@") {
			t.Fatalf("%q: %q, not %q: %v", text, got, points, err)
		}
	})
}
