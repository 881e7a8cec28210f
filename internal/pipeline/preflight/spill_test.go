package preflight

import (
	"testing"

	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/build"
)

func TestCheckSpillLimit(t *testing.T) {
	const gib = 1 << 30
	for _, c := range []struct {
		in    inputFacts
		limit spec.Size
		want  Severity
		none  bool
	}{
		{inputFacts{text: 10 * gib}, 0, 0, true},
		{inputFacts{text: 10 * gib}, 8 * gib, SeverityOK, false},
		{inputFacts{text: 10 * gib}, 6 * gib, SeverityWarning, false},
		{inputFacts{text: 1 << 20}, 1, SeverityOK, false},
	} {
		got := checkSpillLimit(c.in, build.WorkOptions{SpillLimit: c.limit})
		if (got.Name == "") != c.none || got.Severity != c.want {
			t.Errorf("%+v, %s: %+v", c.in, c.limit, got)
		}
	}
}
