package hdfsio

import (
	"fmt"
	"testing"
)

// answerOf is a NameNode's exception.
type answerOf struct{ class, message string }

func (a answerOf) Error() string     { return a.class + ": " + a.message }
func (a answerOf) Method() string    { return "addBlock" }
func (a answerOf) Desc() string      { return "" }
func (a answerOf) Exception() string { return a.class }
func (a answerOf) Message() string   { return a.message }

// TestUnavailable checks which answers say that HDFS takes no blocks for now.
func TestUnavailable(t *testing.T) {
	none := answerOf{"java.io.IOException", "File /a could only be written to 0 of the 1 minReplication nodes. There are 0 datanode(s) running."}
	for err, want := range map[error]bool{
		answerOf{safeMode, ""}: true,
		none:                   true,
		fmt.Errorf("%w: 0 are free: %w", ErrNoSpace, none): false,
		answerOf{"java.io.IOException", "another"}:         false,
	} {
		if got := Unavailable(fmt.Errorf("write /a: %w", err)); got != want {
			t.Errorf("%v: %t", err, got)
		}
	}
}
