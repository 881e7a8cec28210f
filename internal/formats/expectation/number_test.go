package expectation

import (
	"fmt"
	"math"
	"math/big"
	"testing"

	"bulkload/internal/formats/celltype"
	"bulkload/internal/test/testcheck"
)

// TestFloat compares the floats of numbers with math/big, within a relative error of 1e-15.
func TestFloat(t *testing.T) {
	r := testcheck.Rand(t)
	var digits, others [celltype.MaxDigits]byte
	for range 20_000 {
		text := fmt.Sprintf("%d.%0*d", r.Int64N(1<<r.IntN(63))-r.Int64N(1<<r.IntN(63)), 1+r.IntN(20), r.Int64N(1<<r.IntN(63)))
		if r.IntN(2) == 0 {
			text += fmt.Sprintf("e%d", r.IntN(700)-350)
		}
		n, ok := ParseNumber([]byte(text), &digits)
		exact, ok2 := new(big.Rat).SetString(text)
		if !ok || !ok2 {
			t.Fatalf("%s is not a number", text)
		}
		want, _ := exact.Float64()
		want = max(min(want, math.MaxFloat64), -math.MaxFloat64)
		got := n.Float()
		if apart := math.Abs(got - want); apart > 1e-15*math.Abs(want) && apart > 1e-320 {
			t.Fatalf("%s is %v, not %v", text, got, want)
		}
		if n.Whole() != exact.IsInt() {
			t.Fatalf("%s: whole %v", text, n.Whole())
		}
		o, _ := ParseNumber(fmt.Appendf(nil, "%v", want), &others)
		if again := o.Float(); again != want && math.Abs(again-want) > 1e-15*math.Abs(want) {
			t.Fatalf("%v is %v", want, again)
		}
	}
}
