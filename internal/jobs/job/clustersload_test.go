package job

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"bulkload/internal/test/testcheck"
)

// TestAlsoByLink checks that a link to a configuration makes no other job of a run, and that an update of a volume of Kubernetes does not either: it
// replaces the directory that the links of the volume name.
func TestAlsoByLink(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	testcheck.Must(t, err)
	target, link, volume := filepath.Join(dir, "conf"), filepath.Join(dir, "link"), filepath.Join(dir, "volume")
	testcheck.Must(t, os.Mkdir(target, 0o700))
	testcheck.Must(t, os.Symlink("conf", link))
	for _, version := range []string{"..2026_11_28_14_00_00.1", "..2026_11_28_15_00_00.2"} {
		testcheck.Must(t, os.MkdirAll(filepath.Join(volume, version, "dr"), 0o700))
		testcheck.Must(t, os.RemoveAll(filepath.Join(volume, "..data")))
		testcheck.Must(t, os.Symlink(version, filepath.Join(volume, "..data")))
		if version == "..2026_11_28_14_00_00.1" {
			testcheck.Must(t, os.Symlink("..data/dr", filepath.Join(volume, "dr")))
		}
		given := []string{link, target + "/", volume, filepath.Join(volume, "dr"), filepath.Join(volume, "..data"), filepath.Join(dir, "absent")}
		want := []string{target, target, volume, filepath.Join(volume, "dr"), filepath.Join(volume, "..data"), filepath.Join(dir, "absent")}
		if got, err := absolute(given); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q, %v, want %q", got, err, want)
		}
	}
}
