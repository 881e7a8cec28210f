package fail

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"bulkload/internal/hadoop/hadooprpc"
	"bulkload/internal/hadoop/hbaserpc"
	"bulkload/internal/hadoop/kms"
	"bulkload/internal/objectstore"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/kerberos"
	"bulkload/pkg/loader"
	"bulkload/pkg/setting"
)

// kinds returns all kinds.
func kinds() []Kind {
	return []Kind{Unexpected, Config, Check, BadRows, Input, HDFS, Load, Verify, Busy, State}
}

// TestKindIsKept checks that an error keeps its kind, its message and its causes, however it is wrapped.
func TestKindIsKept(t *testing.T) {
	cause := fmt.Errorf("open x.csv: %w", fs.ErrNotExist)
	for _, k := range kinds() {
		for what, err := range map[string]error{
			"as it is": With(k, cause),
			"wrapped":  fmt.Errorf("read the input: %w", With(k, cause)),
			"joined":   errors.Join(io.ErrUnexpectedEOF, With(k, cause)),
			"again":    With(Load, fmt.Errorf("job: %w", With(k, cause))),
		} {
			if got := KindOf(err); got != k {
				t.Errorf("kind %d, %s: %d", k, what, got)
			}
			if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), cause.Error()) {
				t.Errorf("kind %d, %s: %v has lost its cause", k, what, err)
			}
			if e, ok := errors.AsType[*Error](err); !ok || e.Kind != k {
				t.Errorf("kind %d, %s: as an Error it is %+v", k, what, e)
			}
		}
	}
	if got := With(Input, cause).Error(); got != cause.Error() {
		t.Errorf("the message is %q", got)
	}
}

// TestNoKind checks that no error has no kind, and that an unmarked error is unexpected.
func TestNoKind(t *testing.T) {
	if err := With(Config, nil); err != nil {
		t.Errorf("no error becomes %v", err)
	}
	for _, err := range []error{nil, io.EOF, context.Canceled, &RejectsError{File: "bad.jsonl", Err: io.EOF}} {
		if k := KindOf(err); k != Unexpected {
			t.Errorf("%v has kind %d", err, k)
		}
	}
}

// TestOutermostKind checks that the outer one of two marks is the kind of the failure.
func TestOutermostKind(t *testing.T) {
	err := &Error{Load, fmt.Errorf("load: %w", &Error{Input, io.EOF})}
	if k := KindOf(err); k != Load {
		t.Errorf("kind %d", k)
	}
}

// TestKindsOfCauses checks that some causes have their own kind, whatever the job was doing.
func TestKindsOfCauses(t *testing.T) {
	full := &os.PathError{Op: "write", Path: "/spill/run", Err: syscall.ENOSPC}
	quota := &os.PathError{Op: "write", Path: "/spill/run", Err: syscall.EDQUOT}
	block := &hdfsio.BlockError{DataNode: "dn:1", Block: "blk_1_2", Err: hdfsio.ErrBlockChecksum}
	feature := &hdfsio.FeatureError{Op: "create", Path: "/zone/x", Feature: "erasure coded", Advice: "name another"}
	elsewhere := map[Kind]Kind{Unexpected: Check, BadRows: Check, Input: Check, HDFS: Check, Load: Check, Verify: Check, Busy: Check, State: Check}
	for _, c := range []struct {
		what string
		err  error
		of   map[Kind]Kind // kinds that differ from the requested one
	}{
		{"a full disk", full, map[Kind]Kind{Unexpected: HDFS, Config: HDFS, Check: HDFS, BadRows: HDFS, Input: HDFS, Load: HDFS, Verify: HDFS, Busy: HDFS, State: HDFS}},
		{"a full share of it", quota, map[Kind]Kind{Unexpected: HDFS, Config: HDFS, Check: HDFS, BadRows: HDFS, Input: HDFS, Load: HDFS, Verify: HDFS, Busy: HDFS, State: HDFS}},
		{"a damaged block", block, map[Kind]Kind{Input: HDFS}},
		{"a feature that is not supported", feature, map[Kind]Kind{HDFS: Check}},
		{"a directory of HDFS that the user may not write", &fs.PathError{Op: "mkdir", Path: "/a", Err: fmt.Errorf("%w: Permission denied: user=tina", fs.ErrPermission)}, map[Kind]Kind{HDFS: Check}},
		{"a local directory that the user may not write", &os.PathError{Op: "mkdir", Path: "/a", Err: syscall.EACCES}, map[Kind]Kind{HDFS: Check}},
		{"a key that is refused", &hdfsio.KeyError{Err: kms.ErrDenied}, map[Kind]Kind{HDFS: Check}},
		{"a KMS out of reach", &hdfsio.KeyError{Err: io.EOF}, map[Kind]Kind{Input: HDFS}},
		{"a table whose links HBase takes for references", fmt.Errorf("snapshot s: %w", loader.ErrSnapshotLinks), map[Kind]Kind{Load: Check}},
		{"a snapshot of another user", fmt.Errorf("snapshot s: %w", loader.ErrSnapshotExists), map[Kind]Kind{Load: Check}},
		{"a master that takes no snapshots", fmt.Errorf("snapshot s: %w", loader.ErrNoSnapshots), map[Kind]Kind{Load: Check}},
		{"a table that is gone", fmt.Errorf("table t: %w", loader.ErrTableNotFound), map[Kind]Kind{Load: Check}},
		{"a table out of service", fmt.Errorf("table t %w", loader.ErrTableDisabled), map[Kind]Kind{Load: Check}},
		{"a table that accepts no load", &loader.StateError{}, map[Kind]Kind{Load: Check}},
		{"a table that is being enabled", &loader.StateError{State: loader.Enabling}, nil},
		{"a table without the family", &loader.FamilyError{}, map[Kind]Kind{Load: Check}},
		{"a load that access control refuses", &loader.RemoteError{Class: "org.apache.hadoop.hbase.security.AccessDeniedException"}, map[Kind]Kind{Load: Check}},
		{"a NameNode out of reach", &hdfsio.UnmetError{Addresses: []string{"nn:1"}, Err: &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}}, map[Kind]Kind{Input: HDFS}},
		{"a host that does not exist", &hdfsio.UnmetError{Addresses: []string{"nn:1"}, Err: &net.OpError{Op: "dial", Err: &net.DNSError{IsNotFound: true}}}, nil},
		{"an object store out of reach", &objectstore.OutOfReachError{}, map[Kind]Kind{Input: HDFS}},
		{"a server without Kerberos", hadooprpc.ErrSimple, elsewhere},
		{"a server of HBase without Kerberos", hbaserpc.ErrSimple, elsewhere},
		{"a NameNode with Kerberos", hdfsio.ErrSecured, elsewhere},
		{"a server of HBase with Kerberos", loader.ErrSecured, elsewhere},
		{"another protection", &kerberos.MismatchError{}, elsewhere},
		{"a principal that the KDC does not know", kerberos.ErrUnknownService, elsewhere},
		{"a ticket cache that has expired", kerberos.ErrExpired, elsewhere},
		{"a server of another principal", &hadooprpc.PrincipalError{Key: "dfs.namenode.kerberos.principal", Err: io.EOF}, elsewhere},
		{"another error", io.EOF, nil},
	} {
		for _, k := range kinds() {
			want, ok := c.of[k]
			if !ok {
				want = k
			}
			err := With(k, fmt.Errorf("job: %w", c.err))
			if got := KindOf(err); got != want {
				t.Errorf("%s with kind %d has kind %d, want %d", c.what, k, got, want)
			}
			if !errors.Is(err, c.err) {
				t.Errorf("%s with kind %d has lost its cause: %v", c.what, k, err)
			}
		}
	}
	if k := KindOf(fmt.Errorf("nobody has marked it: %w", full)); k != HDFS {
		t.Errorf("a full disk has kind %d", k)
	}
}

// TestErrorf checks that the error keeps its settings, and shows them in a caller's words.
func TestErrorf(t *testing.T) {
	err := Errorf(Config, "%w: give %s or %s", io.EOF, setting.Staging, setting.Into)
	if KindOf(err) != Config || !errors.Is(err, io.EOF) || err.Error() != "EOF: give `staging` or `into`" {
		t.Errorf("%d: %v", KindOf(err), err)
	}
	if names := setting.Of(err); !slices.Equal(names, []setting.Name{setting.Staging, setting.Into}) {
		t.Errorf("it names %v", names)
	}
	if text := setting.In(err, func(n setting.Name) string { return "--" + string(n) }); text != "EOF: give --staging or --into" {
		t.Errorf("it says %q", text)
	}
}

// TestWithRejects checks that only errors of bad records name their file.
func TestWithRejects(t *testing.T) {
	bad := Errorf(BadRows, "3 records are bad")
	err := WithRejects(bad, "job/rejects.jsonl")
	if KindOf(err) != BadRows || !errors.Is(err, bad) || err.Error() != "3 records are bad (bad records are in job/rejects.jsonl)" {
		t.Errorf("%d: %v", KindOf(err), err)
	}
	if e, ok := errors.AsType[*RejectsError](fmt.Errorf("job: %w", err)); !ok || e.File != "job/rejects.jsonl" {
		t.Errorf("%+v", e)
	}
	for _, k := range kinds() {
		if other := With(k, io.EOF); k != BadRows && WithRejects(other, "x") != other {
			t.Errorf("an error of kind %d is about rejected records", k)
		}
	}
	if err := WithRejects(nil, "x"); err != nil {
		t.Errorf("no error becomes %v", err)
	}
}

// TestAboutData checks that the message omits the data, and that Data returns its beginning, unaffected by later writes.
func TestAboutData(t *testing.T) {
	for _, n := range []int{0, 1, maxData, maxData + 1, 5000} {
		data := []byte(strings.Repeat("s", n))
		err := fmt.Errorf("record 7: %w", AboutData(data, "column %s: %w", "amount", io.ErrShortBuffer))
		if err.Error() != "record 7: column amount: short buffer" || !errors.Is(err, io.ErrShortBuffer) {
			t.Errorf("%d bytes: %v", n, err)
		}
		e, ok := errors.AsType[*DataError](err)
		if !ok {
			t.Fatalf("%d bytes: %T", n, err)
		}
		clear(data)
		if want := strings.Repeat("s", min(n, 256)); string(e.Data()) != want {
			t.Errorf("%d bytes: %q, want %d", n, e.Data(), len(want))
		}
	}
}
