package query

import (
	"errors"
	"strings"
	"testing"

	"bulkload/internal/model/fail"
	"bulkload/internal/model/spec"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcluster"
	"bulkload/pkg/loader"
)

// TestDisabledTable checks that reading a disabled table is an error that names it, without repeated attempts.
func TestDisabledTable(t *testing.T) {
	t.Parallel()
	env := jobtest.ClusterEnv(t, testcluster.Shared(t))
	name := jobtest.FreshTable(t, env, 2, nil)
	table, err := loader.ParseTableName(name)
	if err != nil {
		t.Fatal(err)
	}
	c, err := env.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.DisableTable(t.Context(), table); err != nil {
		t.Fatal(err)
	}
	s := jobtest.Resolve(t, spec.Spec{Table: name, Key: "salt(id) + id"})
	for what, q := range map[string]Query{"get": {Values: []string{"1"}}, "scan": {From: []string{"1"}, To: []string{"3"}}} {
		_, err := Read(t.Context(), env, s, q, func(loader.Row) error { return nil })
		if !errors.Is(err, loader.ErrTableDisabled) || fail.KindOf(err) != fail.Check || !strings.Contains(err.Error(), "table "+name+" is disabled: enable it") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := c.Rows(t.Context(), table, [][]byte{[]byte("1")}); !errors.Is(err, loader.ErrTableDisabled) {
		t.Errorf("rows: %v", err)
	}
}
