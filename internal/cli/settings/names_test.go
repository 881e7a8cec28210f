package settings

import "testing"

func TestNearest(t *testing.T) {
	known := []string{"memory", "workers", "spill_dir", "state", "stage", "staging", "max_files"}
	for name, want := range map[string]string{"memry": "memory", "worker": "workers", "spilldir": "spill_dir", "zzz": "", "": "", "stagin": "staging", "maxfiles": "max_files"} {
		if got := Nearest(name, known); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
