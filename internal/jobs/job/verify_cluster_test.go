package job

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/result"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/verify"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcluster"
	"bulkload/pkg/loader"

	"github.com/tsuna/gohbase/hrpc"
	server "github.com/tsuna/gohbase/region"
)

// loadedJob loads 200 rows into a table and returns the arguments of a verification.
func loadedJob(t *testing.T, dial func(loader.Config) loader.Config) (*loader.Cluster, *cluster.Facts, *manifest.Manifest) {
	t.Helper()
	env := jobtest.ClusterEnv(t, testcluster.Shared(t))
	table := jobtest.FreshTable(t, env, 4, nil)
	var csv strings.Builder
	csv.WriteString("id,v\n")
	for i := range 200 {
		fmt.Fprintf(&csv, "k%04d,%d\n", i, i)
	}
	in := filepath.Join(t.TempDir(), "in.csv")
	if err := os.WriteFile(in, []byte(csv.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := Run(t.Context(), env, jobtest.Resolve(t, spec.Spec{Table: table, Inputs: []string{in}, Key: "id", Verify: "off"}),
		RunOptions{State: checkpoint.Options{Dir: t.TempDir()}})
	if err != nil {
		t.Fatal(err)
	}
	user, err := env.Conf.User()
	if err != nil {
		t.Fatal(err)
	}
	cfg := loader.Config{Quorum: env.Conf.Quorum(), Root: env.Conf.Znode(), EffectiveUser: user}
	if dial != nil {
		cfg = dial(cfg)
	}
	c, err := loader.Dial(t.Context(), cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	facts, err := cluster.TableFacts(t.Context(), env, c, table, "f")
	if err != nil {
		t.Fatal(err)
	}
	return c, facts, r.Manifest
}

// mutateCell puts or deletes one column of family f at a timestamp, as another client of HBase would.
func mutateCell(t *testing.T, facts *cluster.Facts, row, qualifier string, at int64, del bool) {
	t.Helper()
	c, err := jobtest.ClusterEnv(t, testcluster.Shared(t)).Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	regions, err := c.Regions(t.Context(), facts.Name)
	if err != nil {
		t.Fatal(err)
	}
	r := regions[slices.IndexFunc(regions, func(r loader.Region) bool { return r.Contains([]byte(row)) })]
	client := server.NewClient(r.Server, server.RegionClient, 1, 0, "tina", time.Minute, nil, (&net.Dialer{}).DialContext)
	if err := client.Dial(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	values := map[string]map[string][]byte{"f": {qualifier: []byte("another's")}}
	call := hrpc.NewPut
	if del {
		call, values["f"][qualifier] = hrpc.NewDel, nil
	}
	m, err := call(t.Context(), []byte(facts.Name.String()), []byte(row), values, hrpc.TimestampUint64(uint64(at)), hrpc.SkipBatch())
	if err != nil {
		t.Fatal(err)
	}
	m.SetRegion(server.NewInfo(r.ID, []byte(facts.Name.Namespace), []byte(facts.Name.Qualifier), r.Name, r.Start, r.End))
	client.QueueRPC(m)
	if answer := <-m.ResultChan(); answer.Error != nil {
		t.Fatal(answer.Error)
	}
}

// brokenLink breaks every connection to a region server except the first ones.
type brokenLink struct{ broken atomic.Bool }

func (b *brokenLink) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	if b.broken.Load() {
		return nil, syscall.ECONNREFUSED
	}
	var d net.Dialer
	c, err := d.DialContext(ctx, network, addr)
	return &cutConn{c, b}, err
}

type cutConn struct {
	net.Conn
	b *brokenLink
}

func (c *cutConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if c.b.broken.Load() {
		c.Close()
		return 0, syscall.ECONNRESET
	}
	return n, err
}

// TestVerificationThatCannotReadIsTriedAgain checks that a table out of reach is not reported as different.
func TestVerificationThatCannotReadIsTriedAgain(t *testing.T) {
	t.Parallel()
	link := &brokenLink{}
	c, facts, m := loadedJob(t, func(cfg loader.Config) loader.Config {
		cfg.Dialer, cfg.RetryTimeout = link.dial, time.Second
		return cfg
	})
	link.broken.Store(true)
	for mode, look := range verifications(t, c, facts, m) {
		if _, err := look(); fail.KindOf(err) != fail.Load || !errors.Is(err, syscall.ECONNREFUSED) && !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("%s: kind %d, %v", mode, fail.KindOf(err), err)
		}
	}
}

func verifications(t *testing.T, c *loader.Cluster, facts *cluster.Facts, m *manifest.Manifest) map[string]func() (*result.Verification, error) {
	return map[string]func() (*result.Verification, error){
		"full":   func() (*result.Verification, error) { return verify.Full(t.Context(), c, facts, m, progress.Events{}) },
		"sample": func() (*result.Verification, error) { return verify.Sample(t.Context(), c, facts, m) },
	}
}

// sampledKeys returns the keys of the sampled rows, in order.
func sampledKeys(m *manifest.Manifest) []string {
	var keys []string
	for _, s := range m.Samples {
		keys = append(keys, string(s.Key))
	}
	slices.Sort(keys)
	return keys
}

// TestMaskedRowsAreCountedAndNotLost checks that cells hidden by others' newer cells and delete markers count as present; both modes report their
// number.
func TestMaskedRowsAreCountedAndNotLost(t *testing.T) {
	t.Parallel()
	c, facts, m := loadedJob(t, nil)
	keys := sampledKeys(m)
	later := m.Timestamp + 1000
	mutateCell(t, facts, keys[0], "v", later, false)
	mutateCell(t, facts, keys[1], "v", later, true)
	mutateCell(t, facts, keys[2], "v", later, true)
	mutateCell(t, facts, keys[2], "v", later+1000, false) // visible to readers
	mutateCell(t, facts, keys[3], "other", later, false)  // hides nothing
	for mode, look := range verifications(t, c, facts, m) {
		v, err := look()
		if err != nil {
			t.Errorf("%s: %v", mode, err)
			continue
		}
		if want := (result.Masked{Rows: 3, Newer: 2, Deleted: 1}); v.Masked != want {
			t.Errorf("%s: %+v, want %+v", mode, v.Masked, want)
		}
		if mode == "full" && v.Got != v.Want {
			t.Errorf("%v, want %v", v.Got, v.Want)
		}
	}
}

// TestCellsThatAreGoneAreLost checks that cells of the job's timestamp that compactions have dropped count as missing, whatever hid them.
func TestCellsThatAreGoneAreLost(t *testing.T) {
	t.Parallel()
	c, facts, m := loadedJob(t, nil)
	keys := sampledKeys(m)
	mutateCell(t, facts, keys[0], "v", m.Timestamp+1000, true)
	_, err := testcluster.Shared(t).AdminT(t).Run(t.Context(), "major-compact", facts.Name.String())
	if err != nil {
		t.Fatal(err)
	}
	for mode, look := range verifications(t, c, facts, m) {
		if _, err := look(); fail.KindOf(err) != fail.Verify {
			t.Errorf("%s: kind %d, %v", mode, fail.KindOf(err), err)
		}
	}
}

// TestDeletedCellsOfAnEarlierJobAreNotThisJobs checks that deleted cells of an earlier job with the same timestamp are not counted as this job's.
func TestDeletedCellsOfAnEarlierJobAreNotThisJobs(t *testing.T) {
	t.Parallel()
	c, facts, m := loadedJob(t, nil)
	mutateCell(t, facts, "not-this-jobs", "else", m.Timestamp, false)
	mutateCell(t, facts, "not-this-jobs", "else", m.Timestamp, true)
	v, err := verify.Full(t.Context(), c, facts, m, progress.Events{})
	if err != nil || v.Got != v.Want || v.Masked != (result.Masked{}) {
		t.Errorf("%+v, %v", v, err)
	}
}
