package staging

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"strings"
	"testing"

	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testfs"
	"bulkload/pkg/hdfsio"
)

// owned is an in-memory file system with owners and sticky bits, like HDFS: what a user creates belongs to the user. Like HDFS
// below a directory with a default ACL, mkdir clears bits.
type owned struct {
	*hdfsio.Memory
	user   string
	owners map[string]string
	sticky map[string]bool
}

func newOwned(user string) *owned {
	return &owned{hdfsio.NewMemory(), user, map[string]string{"/": "hdfs"}, map[string]bool{}}
}

// ownedInfo is a file with an owner.
type ownedInfo struct {
	fs.FileInfo
	owner  string
	sticky bool
}

func (i ownedInfo) Owner() string      { return i.owner }
func (i ownedInfo) OwnerGroup() string { return "g" }
func (i ownedInfo) Mode() fs.FileMode {
	if i.sticky {
		return i.FileInfo.Mode() | fs.ModeSticky
	}
	return i.FileInfo.Mode()
}

func (o *owned) Stat(ctx context.Context, name string) (fs.FileInfo, error) {
	info, err := o.Memory.Stat(ctx, name)
	if err != nil {
		return nil, err
	}
	return ownedInfo{info, o.owners[name], o.sticky[name]}, nil
}

func (o *owned) MkdirAll(ctx context.Context, name string, perm fs.FileMode) error {
	for dir := name; dir != "/"; dir = path.Dir(dir) {
		if _, err := o.Memory.Stat(ctx, dir); errors.Is(err, fs.ErrNotExist) {
			o.owners[dir] = o.user
		}
	}
	return o.Memory.MkdirAll(ctx, name, perm&^0o022)
}

func (o *owned) Chmod(ctx context.Context, name string, perm fs.FileMode) error {
	o.sticky[name] = perm&fs.ModeSticky != 0
	return o.Memory.Chmod(ctx, name, perm)
}

// as returns the file system of another user.
func (o *owned) as(user string) *owned { return &owned{o.Memory, user, o.owners, o.sticky} }

// mode returns the mode of a directory.
func (o *owned) mode(t *testing.T, name string) fs.FileMode {
	t.Helper()
	info, err := o.Stat(t.Context(), name)
	testcheck.Must(t, err)
	return info.Mode() &^ fs.ModeDir
}

// TestMissingBase checks that missing parents of a base are created with Hadoop's modes, and that existing ones keep their modes.
func TestMissingBase(t *testing.T) {
	o := newOwned("tina")
	testcheck.Must(t, o.as("hdfs").MkdirAll(t.Context(), "/data", 0o750))
	for base, modes := range map[string]map[string]fs.FileMode{
		"/tmp/bulkload-tina":   {"/tmp": 0o777 | fs.ModeSticky, "/tmp/bulkload-tina": 0o711},
		"/user/tina/a/staging": {"/user": 0o755, "/user/tina": 0o755, "/user/tina/a": 0o755, "/user/tina/a/staging": 0o711},
		"/data/loads/of/tina":  {"/data": 0o750, "/data/loads": 0o755, "/data/loads/of": 0o755, "/data/loads/of/tina": 0o711},
	} {
		made, err := MakeBase(t.Context(), o, base, "tina")
		if !made || err != nil {
			t.Errorf("%s: made %t, %v", base, made, err)
			continue
		}
		for dir, want := range modes {
			if got := o.mode(t, dir); got != want {
				t.Errorf("%s: %s has mode %v, want %v", base, dir, got, want)
			}
			if want := map[bool]string{true: "hdfs", false: "tina"}[dir == "/data"]; o.owners[dir] != want {
				t.Errorf("%s: %s belongs to %s", base, dir, o.owners[dir])
			}
		}
		if made, err := MakeBase(t.Context(), o, base, "tina"); made || err != nil {
			t.Errorf("%s once more: made %t, %v", base, made, err)
		}
	}
}

// TestBases checks that a base in which others could replace files is refused, with an error that names its owner or mode and the remedy.
func TestBases(t *testing.T) {
	for what, c := range map[string]struct {
		dir, owner string
		mode       fs.FileMode
		refused    string
	}{
		"own":                          {"/base", "tina", 0o711, ""},
		"own, closed":                  {"/base", "tina", 0o700, ""},
		"own, of the group":            {"/base", "tina", 0o770, ""},
		"own, all users write":         {"/base", "tina", 0o777, "/base has mode 0777: all users may replace the files of a load there (chmod 711 it)"},
		"own, all users write, sticky": {"/base", "tina", 0o777 | fs.ModeSticky, ""},
		"another's":                    {"/base", "eve", 0o755, "/base belongs to eve, not to tina, and has no sticky bit"},
		"another's, sticky":            {"/base", "hdfs", 0o777 | fs.ModeSticky, ""},
		"the default one":              {"/tmp/bulkload-tina", "tina", 0o711, ""},
		"the default one of another":   {"/tmp/bulkload-tina", "eve", 0o777 | fs.ModeSticky, "/tmp/bulkload-tina belongs to eve, not to tina: its owner could replace the files"},
		"without owners":               {"/base", "", 0o777, ""},
	} {
		o := newOwned(c.owner)
		testcheck.Must(t, o.MkdirAll(t.Context(), c.dir, 0o755))
		testcheck.Must(t, o.Chmod(t.Context(), c.dir, c.mode))
		made, err := MakeBase(t.Context(), o.as("tina"), c.dir, "tina")
		if made || (err == nil) != (c.refused == "") || err != nil && !strings.Contains(err.Error(), c.refused) {
			t.Errorf("%s: made %t, %v, want %q", what, made, err, c.refused)
		}
		if _, unfit := errors.AsType[*UnfitError](err); unfit != (c.refused != "") {
			t.Errorf("%s: %T", what, err)
		}
		if got := o.mode(t, c.dir); got != c.mode {
			t.Errorf("%s: the mode is %v now", what, got)
		}
	}
}

// TestBaseIsFile checks that a file, or a path below a file, is refused as a base, and that an error of the file system is not taken for
// a missing directory.
func TestBaseIsFile(t *testing.T) {
	o := newOwned("tina")
	w, err := o.Create(t.Context(), "/file", hdfsio.CreateOptions{})
	testcheck.Must(t, err)
	testcheck.Must(t, w.Finish())
	o.owners["/file"] = "tina"
	if made, err := MakeBase(t.Context(), o, "/file", "tina"); made || err == nil || err.Error() != "/file is not a directory" {
		t.Errorf("made %t, %v", made, err)
	}
	if made, err := MakeBase(t.Context(), o, "/file/base", "tina"); !made || err == nil {
		t.Errorf("below a file: made %t, %v", made, err)
	}
	broken := errors.New("the NameNode is gone")
	for _, failing := range []testfs.Op{testfs.OpStat, testfs.OpMkdirAll, testfs.OpChmod} {
		faulty := &testfs.Faulty{FS: o.as("tina"), Inject: func(op testfs.Op, _ string, _ int64) *testfs.Fault {
			if op == failing {
				return &testfs.Fault{Err: broken}
			}
			return nil
		}}
		if made, err := MakeBase(t.Context(), faulty, "/new/base", "tina"); !errors.Is(err, broken) || made != (failing != testfs.OpStat) {
			t.Errorf("%v fails: made %t, %v", failing, made, err)
		}
		testcheck.Must(t, o.RemoveAll(t.Context(), "/new"))
	}
}

// TestBaseRemovedMeanwhile removes the empty base before each call to the file system in turn, as a check of another job does at the end. It checks that the
// job's directory is created nevertheless.
func TestBaseRemovedMeanwhile(t *testing.T) {
	const base = "/tmp/bulkload-tina"
	for removed := 1; ; removed++ {
		o, calls := newOwned("tina"), 0
		d := &Dir{Location: hdfsio.Location{Path: base + "/job"}, FS: &testfs.Faulty{FS: o, Inject: func(testfs.Op, string, int64) *testfs.Fault {
			if calls++; calls == removed {
				_ = o.Remove(t.Context(), base) // fails if it does not exist or is not empty
			}
			return nil
		}}}
		if err := d.create(t.Context(), "tina"); err != nil {
			t.Errorf("removed before call %d: %v", removed, err)
		}
		if !d.newBase || o.mode(t, base) != 0o711 || o.mode(t, d.Location.Path) != 0o711 {
			t.Errorf("removed before call %d: %t, modes %v and %v", removed, d.newBase, o.mode(t, base), o.mode(t, d.Location.Path))
		}
		if calls < removed {
			break
		}
	}
}

// TestOwnerOfJob checks that a job's directory of another owner is refused.
func TestOwnerOfJob(t *testing.T) {
	o := newOwned("eve")
	testcheck.Must(t, o.MkdirAll(t.Context(), "/base/job", 0o711))
	for user, want := range map[string]string{"eve": "", "tina": "/base/job belongs to eve, not to tina: it is not this job's directory"} {
		err := checkOwner(t.Context(), o, "/base/job", user)
		if (err == nil) != (want == "") || err != nil && err.Error() != want {
			t.Errorf("of %s: %v", user, err)
		}
	}
	o.owners["/base/job"] = ""
	testcheck.Must(t, checkOwner(t.Context(), o, "/base/job", "tina"))
	if err := checkOwner(t.Context(), o, "/base/none", "tina"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a directory that is not there: %v", err)
	}
}
