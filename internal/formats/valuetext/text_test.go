package valuetext

import (
	"encoding/hex"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"testing"
	"time"

	"bulkload/internal/test/testcheck"
)

// TestInstants compares instants with package time, in the years that both write with four digits.
func TestInstants(t *testing.T) {
	r := testcheck.Rand(t)
	zones := []*time.Location{nil, time.UTC}
	for _, name := range []string{"Asia/Kolkata", "America/New_York"} {
		zone, err := time.LoadLocation(name)
		testcheck.Must(t, err)
		zones = append(zones, zone)
	}
	first, last := time.Date(1, 1, 2, 0, 0, 0, 0, time.UTC).Unix(), time.Date(9999, 12, 30, 0, 0, 0, 0, time.UTC).Unix()
	for range 20000 {
		second, nanos := first+r.Int64N(last-first), r.Int64N(1e9)/[]int64{1, 1e3, 1e6, 1e9}[r.IntN(4)]
		zone := zones[r.IntN(len(zones))]
		in := zone
		if in == nil {
			in = time.UTC
		}
		at := time.Unix(second, nanos).In(in)
		if want, got := at.Format("2006-01-02 15:04:05.999999999"), string(AppendInstant(nil, second, nanos, 1e9, zone)); got != want {
			t.Fatalf("second %d and %d ns in %v: %s, want %s", second, nanos, zone, got, want)
		}
	}
	for day, want := range map[int64]string{0: "1970-01-01", -719528: "0000-01-01", -719529: "-0001-12-31", 2932897: "10000-01-01"} {
		if got := string(AppendDate(nil, day)); got != want {
			t.Errorf("day %d: %s, want %s", day, got, want)
		}
	}
	for want, got := range map[string][]byte{"838:59:59": AppendClock(nil, 838*3600+59*60+59, 0, 1), "-00:00:01.5": AppendClock(nil, -1, 500, 1000), "00:00:00.000001": AppendClock(nil, 0, 1, 1e6)} {
		if string(got) != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// TestFloats checks that strconv reads back the same number, and that only numbers outside of the given bounds have an
// exponent.
func TestFloats(t *testing.T) {
	r := testcheck.Rand(t)
	for range 20000 {
		size, f := 64, math.Float64frombits(r.Uint64())
		if r.IntN(2) == 0 {
			size, f = 32, float64(math.Float32frombits(r.Uint32()))
		}
		if r.IntN(2) == 0 {
			f = float64(r.Int64()) / math.Pow(10, float64(r.IntN(30)))
			if size == 32 {
				f = float64(float32(f))
			}
		}
		text := string(AppendFloat(nil, f, size))
		back, err := strconv.ParseFloat(text, size)
		if err != nil || back != f && !math.IsNaN(f) {
			t.Fatalf("%v of %d bits: %s is read as %v, %v", f, size, text, back, err)
		}
		a := math.Abs(f)
		if plain := a == 0 || a >= 1e-6 && a < 1e21; plain == strings.Contains(text, "e") && !math.IsNaN(f) && !math.IsInf(f, 0) {
			t.Fatalf("%v is written as %s", f, text)
		}
	}
	if got := string(AppendFloat(AppendFloat(nil, math.Inf(1), 64), math.Inf(-1), 64)); got != "Infinity-Infinity" {
		t.Error(got)
	}
}

// TestFloors compares floored division with math/big.
func TestFloors(t *testing.T) {
	r := testcheck.Rand(t)
	for range 20000 {
		a, b := r.Int64()-r.Int64(), 1+r.Int64N(1<<uint(1+r.IntN(40)))
		q, m := new(big.Int).DivMod(big.NewInt(a), big.NewInt(b), new(big.Int))
		if FloorDiv(a, b) != q.Int64() || FloorMod(a, b) != m.Int64() {
			t.Fatalf("%d by %d: %d and %d, want %d and %d", a, b, FloorDiv(a, b), FloorMod(a, b), q, m)
		}
	}
}

func TestUUIDAndNames(t *testing.T) {
	r := testcheck.Rand(t)
	v := make([]byte, 16)
	for i := range v {
		v[i] = byte(r.Uint32())
	}
	h := hex.EncodeToString(v)
	if want, got := h[:8]+"-"+h[8:12]+"-"+h[12:16]+"-"+h[16:20]+"-"+h[20:], string(AppendUUID(nil, v)); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	long := strings.Repeat("n", 300)
	for want, names := range map[string][]string{"<nil>": {"a", "b", "A"}, "column 2 has no name": {"a", ""}, `column name "b" stands twice: columns 2 and 3`: {"a", "b", "b"},
		`column name "` + long[:200] + `"… stands twice: columns 1 and 2`: {long, long}} {
		if got := fmt.Sprint(CheckNames(names)); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
