package loader

import "testing"

// TestLinksTaken checks which messages of HBase are of a link that it takes for a reference.
func TestLinksTaken(t *testing.T) {
	const region, file = "0f8ae67b58b592bae5cf44a66bec92bd", "489804426a6b41afa2170dc333679ad7_SeqId_4_"
	for message, want := range map[string]bool{
		"2026.o=o=" + region + "-" + file + "-2026 is not a valid HFileLink pattern!":                            true,
		"Missing parent hfile for: a.b-c_d=" + region + "-" + file + " path=f/a.b-c_d=b-c_d=" + region + "-a":    true,
		"Missing parent hfile for: " + file + "." + region + " path=f/t=" + region + "-" + file:                  false, // it is missing
		"Missing parent hfile for: t=" + region + "-" + file + "." + region + " path=f/t=" + region + "-" + file: false,
		"Snapshot { ss=s table=t type=FLUSH } failed":                                                            false,
	} {
		if linksTaken.MatchString(message) != want {
			t.Errorf("%s: want %t", message, want)
		}
	}
}

// TestSnapshotWithoutCause checks which messages are those of HBase 2.5, which has no reason for a snapshot that has failed.
func TestSnapshotWithoutCause(t *testing.T) {
	const failed = "Snapshot { ss=s table=2026.t type=FLUSH ttl=9 } had an error.  "
	for message, want := range map[string]bool{
		failed + "Procedure s { waiting=[] done=[] }":          true,
		failed + "s not found in proclist [a, b]":              true,
		failed + "Missing parent hfile for: 1.2 path=f/t=2-1":  false,
		"Snapshot { ss=s table=t type=FLUSH } is not complete": false,
	} {
		if withoutCause.MatchString(message) != want {
			t.Errorf("%s: want %t", message, want)
		}
	}
	for name, want := range map[TableName]bool{{"default", "2026.orders"}: true, {"ns", "2026.orders"}: false, {"default", "orders"}: false, {"default", "a_SeqId_4_.t"}: true} {
		if name.LinksAsReferences() != want {
			t.Errorf("%s: want %t", name, want)
		}
	}
}
