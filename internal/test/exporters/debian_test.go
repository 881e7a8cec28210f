package exporters

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// fetchDebs downloads Debian's packages of a server and of its libraries that are not installed; libllvm is
// PostgreSQL's expression compiler, which is turned off. @postgresql stands for the release's own version.
const fetchDebs = `
server=$(apt-cache depends postgresql | sed -n 's/^ *Depends: \(postgresql-[0-9]*\)$/\1/p' || true)
[ -n "$server" ] || { apt-get update -qq; server=$(apt-cache depends postgresql | sed -n 's/^ *Depends: \(postgresql-[0-9]*\)$/\1/p'); }
names=$(echo "$*" | sed "s/@postgresql/$server postgresql-client-${server#postgresql-}/")
libs=$(apt-cache depends --no-recommends --no-suggests --no-conflicts --no-breaks --no-replaces $names |
  sed -n 's/^ *Depends: \(lib[a-z0-9.+-]*\)$/\1/p' | sort -u | grep -vE -- '-perl$|^libllvm')
for lib in $libs; do
  case $lib in
  libpq5 | libmariadb3) names="$names $lib" ;;
  *) dpkg-query -W -f '${Status}' "$lib" 2>/dev/null | grep -q 'install ok installed' || names="$names $lib" ;;
  esac
done
apt-get -qq download $names || { apt-get update -qq; apt-get -qq download $names; }
`

// debian unpacks packages into dir, without installing them, and returns the environment in which their programs find their
// libraries. The packages themselves are kept in the cache.
func debian(t *testing.T, dir, name string, packages ...string) (env []string) {
	t.Helper()
	debs := cacheDir(t, name)
	if _, err := os.Stat(debs); err != nil {
		part := debs + ".part"
		if err := os.RemoveAll(part); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(part, 0o755); err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), "sh", append([]string{"-euc", fetchDebs, "sh"}, packages...)...)
		cmd.Dir = part
		run(t, cmd)
		if err := os.Rename(part, debs); err != nil {
			t.Fatal(err)
		}
	}
	files, err := filepath.Glob(filepath.Join(debs, "*.deb"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no packages in %s: %v", debs, err)
	}
	for _, deb := range files {
		run(t, exec.CommandContext(t.Context(), "dpkg", "-x", deb, dir))
		if base := filepath.Base(deb); strings.Contains(base, "server") || strings.HasPrefix(base, "postgresql-1") {
			t.Log(base)
		}
	}
	// dpkg gives the directory the mode in the packages.
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	libs, err := filepath.Glob(filepath.Join(dir, "usr/lib/*-linux-gnu*"))
	if err != nil {
		t.Fatal(err)
	}
	more, err := filepath.Glob(filepath.Join(dir, "lib/*-linux-gnu*"))
	if err != nil {
		t.Fatal(err)
	}
	return []string{"LD_LIBRARY_PATH=" + strings.Join(append(libs, more...), ":"), "LC_ALL=C.UTF-8", "HOME=" + dir, "PATH=" + os.Getenv("PATH"), "TZ=UTC"}
}
