package partition

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"bulkload/internal/test/testcheck"
	"bulkload/pkg/keygen/rowkey"

	"pgregory.net/rapid"
)

func TestFindEqualsLinearSearch(t *testing.T) {
	testcheck.Check(t, func(t *rapid.T) {
		key := rapid.SliceOfN(rapid.SampledFrom([]byte{0, 1, 'a', 'b', 0xfe, 0xff}), 1, 4)
		splits := rapid.SliceOfNDistinct(key, 0, 30, func(b []byte) string { return string(b) }).Draw(t, "splits")
		slices.SortFunc(splits, bytes.Compare)
		r, err := New(splits)
		if err != nil {
			t.Fatal(err)
		}
		k := rapid.OneOf(rapid.Just([]byte{}), key).Draw(t, "key")
		want := 0
		for _, s := range splits {
			if bytes.Compare(s, k) <= 0 {
				want++
			}
		}
		got := r.Find(k)
		if got != want {
			t.Fatalf("key %q is in region %d, want %d of %q", k, got, want, splits)
		}
		// keys of the region have the shared prefix
		start := r.Start(got)
		if n := r.Shared(got); n > 0 && !bytes.HasPrefix(k, start[:n]) {
			t.Fatalf("key %q of region from %q to %q does not share %d bytes", k, start, r.End(got), n)
		}
	})
}

func TestShared(t *testing.T) {
	r, err := New([][]byte{[]byte("1"), []byte("2"), []byte("2a5"), []byte("2a7")})
	if err != nil {
		t.Fatal(err)
	}
	for region, want := range []int{0, 1, 1, 2, 0} {
		if got := r.Shared(region); got != want {
			t.Errorf("region %d shares %d bytes, want %d", region, got, want)
		}
	}
}

func TestSplitsRefused(t *testing.T) {
	for _, list := range []string{"2,1", "1,1", "1,,2", `a\q`, `\x1`, "\\", `\xaa`, `a\,b`, `a\\b`, "ä"} {
		if s, err := ParseSplits(list); err == nil {
			t.Errorf("%q gives %q", list, s)
		}
	}
}

// TestSplitPointsAreReadAsTheyArePrinted checks that printed split points are parsed again: one
// per line unchanged, in a list with \x2C for a comma.
func TestSplitPointsAreReadAsTheyArePrinted(t *testing.T) {
	testcheck.Check(t, func(t *rapid.T) {
		k := rapid.SliceOfN(rapid.Byte(), 1, 10).Draw(t, "key")
		s, err := ParsePoints([]string{rowkey.String(k)})
		if err != nil || len(s) != 1 || !bytes.Equal(s[0], k) {
			t.Fatalf("%q prints as %s and reads as %q, %v", k, rowkey.String(k), s, err)
		}
		s, err = ParseSplits(strings.ReplaceAll(rowkey.String(k), ",", `\x2C`))
		if err != nil || len(s) != 1 || !bytes.Equal(s[0], k) {
			t.Fatalf("%q prints as %s and reads as %q, %v", k, rowkey.String(k), s, err)
		}
	})
}

// FuzzParsePlan parses arbitrary text: it must not panic, and the points must rise.
func FuzzParsePlan(f *testing.F) {
	for _, s := range []string{"", "hex:16", `a,\xFF`, `\xaa,b`, `\`, "a,,b", "hex\\x3A10"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 12 && !strings.ContainsAny(text, ",") {
			return // a large number of regions takes long
		}
		points, err := ParsePlan(text)
		if err != nil {
			return
		}
		if _, err := New(points); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
	})
}

func TestSaltModulus(t *testing.T) {
	cut := func(list string) [][]byte {
		s, err := ParseSplits(list)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	for _, c := range []struct {
		splits [][]byte
		want   int
	}{
		{nil, 1},
		{SaltSplits(2), 2},
		{SaltSplits(10), 10},
		{SaltSplits(50), 50},
		{SaltSplits(1000), 1000},
		{cut("1,2,3,35,4,5,6,7,8,9"), 10}, // region 3 was split
		{append([][]byte{[]byte("0")}, SaltSplits(10)...), 10}, // the lowest salt is a split point too
		{append([][]byte{[]byte("00")}, SaltSplits(50)...), 50},
		{append([][]byte{[]byte("00"), []byte("005")}, SaltSplits(50)...), 50},
		{cut("0,2"), 0}, // 1 is missing
		{cut("0"), 0},
		{cut("1,5,9"), 0},
		{cut("m"), 0},
		{cut("19999999,33333332"), 0},
	} {
		if got := SaltModulus(c.splits); got != c.want {
			t.Errorf("%d split points: modulus %d, want %d", len(c.splits), got, c.want)
		}
	}
}

// TestSplitsOfSalt checks that a salt with more values than a table has regions has no split points.
func TestSplitsOfSalt(t *testing.T) {
	for _, c := range []struct {
		function string
		n, want  int
		ok       bool
	}{
		{"salt", 10, 9, true}, {"salt", 1, 0, true}, {"salt", MaxRegions, MaxRegions - 1, true}, {"salt", MaxRegions + 1, 0, false}, {"salt", 1 << 30, 0, false},
		{"bytesalt", 256, 255, true}, {"bytesalt", 257, 0, false}, {"javasalt", 16, 30, true}, {"javasalt", 257, 0, false}, {"hex", 16, 0, false}, {"md5hex", 16, 0, false},
	} {
		if got, ok := SplitsOfSalt(c.function, c.n); len(got) != c.want || ok != c.ok {
			t.Errorf("%s of %d: %d split points, %t", c.function, c.n, len(got), ok)
		}
	}
}

// TestModulusOfSalt checks that split points show the modulus of the salt that they are made for, and of no other, also if regions were split.
func TestModulusOfSalt(t *testing.T) {
	for _, c := range []struct {
		function string
		splits   [][]byte
		want     int
	}{
		{"salt", SaltSplits(10), 10}, {"bytesalt", SaltSplits(10), 0}, {"javasalt", SaltSplits(10), 0}, {"salt", ByteSaltSplits(16), 0}, {"bytesalt", JavaSaltSplits(16), 0},
		{"javasalt", ByteSaltSplits(16), 0}, {"bytesalt", nil, 1}, {"javasalt", nil, 1}, {"bytesalt", [][]byte{{2}}, 0}, {"bytesalt", [][]byte{[]byte("\x00a")}, 0},
		{"bytesalt", [][]byte{{0}, {1}, []byte("\x01x"), {2}}, 3}, {"bytesalt", [][]byte{{1}, {2}, []byte("\x03x")}, 0}, {"bytesalt", [][]byte{{1}, {3}}, 0},
		{"javasalt", [][]byte{{1}, []byte("\x01x"), {255}, []byte("\xffx")}, 2}, {"javasalt", [][]byte{{1}, {254}, {255}}, 0}, {"javasalt", [][]byte{{1}, {254}}, 0},
	} {
		if got := ModulusOfSalt(c.function, c.splits); got != c.want {
			t.Errorf("%s by %q: %d, want %d", c.function, c.splits, got, c.want)
		}
	}
	for n := 2; n <= 256; n++ {
		if got := ModulusOfSalt("bytesalt", ByteSaltSplits(n)); got != n {
			t.Errorf("%d byte salts: %d", n, got)
		}
		want := n
		if n > 128 {
			want = 0 // all have each byte
		}
		if got := ModulusOfSalt("javasalt", JavaSaltSplits(n)); got != want {
			t.Errorf("%d of Java's salts: %d", n, got)
		}
	}
}

// plainModulus is [SaltModulus] as its comment says it: each n is tried, the greatest first.
func plainModulus(splits [][]byte) int {
	if len(splits) == 0 {
		return 1
	}
	for n := len(splits) + 1; n > 1; n-- {
		if plainSalted(splits, n) {
			return n
		}
	}
	return 0
}

// plainSalted reports whether the salt splits of n are all among the split points, and every split point begins with a salt.
func plainSalted(splits [][]byte, n int) bool {
	width := len(strconv.Itoa(n - 1))
	found := 0
	for _, s := range splits {
		if len(s) < width {
			return false
		}
		salt, err := strconv.Atoi(string(s[:width]))
		if err != nil || s[0] == '+' || s[0] == '-' || salt >= n {
			return false
		}
		if len(s) == width && salt > 0 {
			found++
		}
	}
	return found == n-1
}

// TestSaltModulusEqualsPlain compares SaltModulus with the trial of each modulus: for salts whose regions were split or merged, and for any points.
func TestSaltModulusEqualsPlain(t *testing.T) {
	testcheck.Check(t, func(t *rapid.T) {
		point := rapid.SliceOfN(rapid.SampledFrom([]byte("00112359+-_a\x00")), 1, 4)
		splits := SaltSplits(rapid.SampledFrom([]int{1, 2, 3, 9, 10, 11, 12, 50, 99, 100, 101, 250}).Draw(t, "salts"))
		for range rapid.IntRange(0, 3).Draw(t, "merges") {
			if len(splits) > 0 {
				i := rapid.IntRange(0, len(splits)-1).Draw(t, "merged")
				splits = slices.Delete(splits, i, i+1)
			}
		}
		for _, p := range rapid.SliceOfN(point, 0, 12).Draw(t, "more") {
			if len(splits) > 0 && rapid.Bool().Draw(t, "within a region") {
				p = slices.Concat(rapid.SampledFrom(splits).Draw(t, "region"), p)
			}
			splits = append(splits, p)
		}
		slices.SortFunc(splits, bytes.Compare)
		splits = slices.CompactFunc(splits, bytes.Equal)
		if got, want := SaltModulus(splits), plainModulus(splits); got != want {
			t.Fatalf("modulus %d, want %d of %q", got, want, splits)
		}
	})
}

// TestSaltModulusOfManyRegions checks that SaltModulus reads the split points a few times, not once for each number of salts.
func TestSaltModulusOfManyRegions(t *testing.T) {
	points, err := ParsePlan("decimal:100000")
	if err != nil {
		t.Fatal(err)
	}
	salts := SaltSplits(100_000)
	got := make(chan [3]int, 1)
	go func() { got <- [3]int{SaltModulus(points), SaltModulus(salts), SaltModulus(salts[1:])} }()
	select {
	case n := <-got:
		if want := [3]int{0, 100_000, 0}; n != want {
			t.Errorf("moduli %d, want %d", n, want)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("no modulus after 20 s")
	}
}

func BenchmarkFind(b *testing.B) {
	r, _ := New(SaltSplits(50))
	key := []byte("271dbdebfbc84bad48d92aa7c045019e8d59C1A1FDCBBE01ECE053C5013807B6BE")
	for b.Loop() {
		r.Find(key)
	}
}

// TestSplitsOfNoSalts checks that there are no split points for a salt without values.
func TestSplitsOfNoSalts(t *testing.T) {
	for _, n := range []int{-1, 0} {
		for _, function := range []string{"salt", "bytesalt", "javasalt"} {
			if splits, ok := SplitsOfSalt(function, n); ok || splits != nil {
				t.Errorf("%s of %d: %v, %v", function, n, splits, ok)
			}
		}
		if splits := JavaSaltSplits(n); splits != nil {
			t.Errorf("%d: %v", n, splits)
		}
	}
}
