package spec

import (
	"strings"
	"testing"

	"bulkload/internal/test/testcheck"
)

// TestChoiceOfAJobFile checks that numbers and times are kept as written, and that original keys are by parse.
func TestChoiceOfAJobFile(t *testing.T) {
	const text = "table: t\nkey: id\ninputs: [snapshot:s]\nfrom_key: 20260501\nto_key: '20260601'\nsince: 1700000000000\nuntil: 2026-11-01T00:00:00Z\nonly: [f, 'g:a']\n"
	s, err := ParseSpec("job", []byte(text+"parse: salt(day, 3) + day + '|' + id\n"))
	testcheck.Must(t, err)
	j, err := s.Resolve()
	testcheck.Must(t, err)
	c := j.Choice()
	if len(c.Ranges) != 3 || string(c.Ranges[2].Start) != "220260501" || string(c.Ranges[2].Stop) != "220260601" || c.Since != 1700000000000 || c.Until != 1793491200000 || len(c.Columns) != 2 {
		t.Errorf("%+v", c)
	}
	if s, err = ParseSpec("job", []byte(text)); err == nil {
		_, err = s.Resolve()
	}
	if err == nil || !strings.Contains(err.Error(), "give it with `parse`") {
		t.Error(err)
	}
}
