package loader

import (
	"errors"
	"strings"
	"testing"

	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testcluster"
)

// TestRightsToCreate creates tables on a cluster with access control and simple authentication. It checks that CREATE on an existing namespace is
// enough, and that the error for a missing right names the grant.
func TestRightsToCreate(t *testing.T) {
	t.Parallel()
	cluster := testcluster.Own(t, testcluster.Guarded())
	team := testcheck.Name(t)
	others := team + "_others"
	as := func(user string) *bench { return newBenchOn(t, cluster, func(c *Config) { c.EffectiveUser = user }) }
	spec := func(namespace, name string) TableSpec {
		return TableSpec{Name: TableName{namespace, name}, CreateNamespace: true, Families: testFamilies}
	}
	hbase := as("hbase")
	testcheck.Must(t, hbase.CreateTable(t.Context(), spec(team, "first"))) // creates the namespace
	admin, err := cluster.Admin(t.Context())
	testcheck.Must(t, err)
	_, err = admin.Run(t.Context(), "grant", "@"+team, "tina", "RWC")
	testcheck.Must(t, err)

	tina := as("tina")
	testcheck.Must(t, tina.CreateTable(t.Context(), spec(team, "second")))
	if _, err := tina.Describe(t.Context(), TableName{team, "second"}); err != nil {
		t.Error(err)
	}
	nobody := as("nobody")
	for what, err := range map[string]error{
		"user nobody needs the right CREATE: grant 'nobody', 'C', '@" + team + "' in HBase's shell": nobody.CreateTable(t.Context(), spec(team, "third")),
		"user tina needs the right ADMIN: grant 'tina', 'A' in HBase's shell":                       tina.CreateTable(t.Context(), spec(others, "x")),
		"user nobody needs the right CREATE: grant 'nobody', 'RWC', '" + team + ":second' in HBase's shell": func() error {
			_, err := nobody.Describe(t.Context(), TableName{team, "second"})
			return err
		}(),
	} {
		if _, ok := errors.AsType[*DeniedError](err); !ok || !strings.HasSuffix(err.Error(), what) {
			t.Errorf("%v, want %q", err, what)
		}
	}
	split := func(map[string]string) map[string]string { return map[string]string{"SPLIT_ENABLED": "false"} }
	if err := nobody.ChangeAttributes(t.Context(), TableName{team, "second"}, split); err == nil || !strings.Contains(err.Error(), "user nobody needs the right CREATE: grant 'nobody', 'RWC', '"+team+":second'") {
		t.Errorf("change: %v", err)
	}
	testcheck.Must(t, tina.ChangeAttributes(t.Context(), TableName{team, "second"}, split))
	if _, err := nobody.Prepare(t.Context(), TableName{team, "second"}); err == nil || !strings.Contains(err.Error(), "grant 'nobody', 'RWC', '"+team+":second'") {
		t.Errorf("prepare: %v", err)
	}
}

// TestSnapshotOfNoTable asks for a snapshot of a table that does not exist, for which a master with access control would abort.
func TestSnapshotOfNoTable(t *testing.T) {
	t.Parallel()
	cluster := testcluster.Own(t, testcluster.Guarded())
	name := testcheck.Name(t)
	for _, user := range []string{"nobody", "hbase"} {
		b := newBenchOn(t, cluster, func(c *Config) { c.EffectiveUser = user })
		none := TableName{"default", name + "_none"}
		if err := b.Snapshot(t.Context(), none, name, 0); !errors.Is(err, ErrTableNotFound) {
			t.Errorf("snapshot as %s: %v", user, err)
		}
		testcheck.Must(t, b.EndSnapshot(t.Context(), none, name, 0))
	}
	hbase := newBenchOn(t, cluster, func(c *Config) { c.EffectiveUser = "hbase" })
	testcheck.Must(t, hbase.CreateTable(t.Context(), TableSpec{Name: TableName{"default", name}, Families: testFamilies})) // the master serves
}
