package job

import (
	"strings"
	"testing"
)

// TestReplacedTableDropped checks that a job whose table is dropped before it is compared with the export ends with 3: waiting for the input does not help.
func TestReplacedTableDropped(t *testing.T) {
	t.Parallel()
	name := buildProgram(t)
	p := newFreshProgram(t, name, "")
	if code, _, says := p.into("built"); code != 128+9 {
		t.Fatalf("exit code %d: %s", code, says)
	}
	p.admin(t, "drop")
	for range 2 {
		if code, _, says := p.into(""); code != 3 || !strings.Contains(says, "was dropped while the job ran") {
			t.Errorf("exit code %d: %s", code, says)
		}
	}
}
