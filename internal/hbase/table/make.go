package table

import (
	"context"
	"errors"
	"fmt"
	"time"

	"bulkload/internal/base/retry"
	"bulkload/pkg/loader"
)

// settleTime limits the wait for a table that is being enabled.
const settleTime = time.Minute

// Settle waits up to a minute for a table that is being enabled, for example because
// its creator was stopped while the master created it. It reports whether a table of
// that name exists, in any state.
func Settle(ctx context.Context, c *loader.Cluster, name loader.TableName) (exists bool, err error) {
	enabling, began := retry.Policy{First: 200 * time.Millisecond, For: settleTime}, time.Now()
	for tries := 1; ; tries++ {
		t, err := c.Describe(ctx, name)
		if errors.Is(err, loader.ErrTableNotFound) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		wait, again := enabling.Next(began, tries)
		if t.State != loader.Enabling || !again {
			return true, nil
		}
		if err := retry.Sleep(ctx, wait); err != nil {
			return true, err
		}
	}
}

// Spec returns the description of a table with the template's settings, the given
// name and split points. Its namespace is created if it does not exist.
func (t *Template) Spec(name loader.TableName, splits [][]byte) loader.TableSpec {
	return loader.TableSpec{Name: name, Families: t.Families, Attributes: t.Attributes, Configuration: t.Configuration, SplitKeys: splits, CreateNamespace: true}
}

// Vacant reports whether a table has neither rows nor delete markers.
func Vacant(ctx context.Context, c *loader.Cluster, name loader.TableName) (bool, error) {
	return isEmpty(ctx, c, name, true)
}

// Empty reports whether readers see no row of a table. The table may still have deleted rows.
func Empty(ctx context.Context, c *loader.Cluster, name loader.TableName) (bool, error) {
	return isEmpty(ctx, c, name, false)
}

// isEmpty reports whether a scan returns no row; a raw scan also returns deleted cells and markers.
func isEmpty(ctx context.Context, c *loader.Cluster, name loader.TableName, raw bool) (bool, error) {
	none := true
	err := c.Scan(ctx, loader.ScanRequest{Table: name, MaxRows: 1, ChunkBytes: 64 << 10, KeysOnly: true, Raw: raw, Versions: 1, Prompt: true}, func(loader.Row) error {
		none = false
		return nil
	})
	return none, err
}

// serviceTime limits the time for enabling or disabling a table, after the master's procedures have finished.
const serviceTime = 10 * time.Minute

// SetService enables or disables a table and waits until that is done, even if a process that was stopped has started it.
func SetService(ctx context.Context, c *loader.Cluster, name loader.TableName, on bool) error {
	change, want := c.DisableTable, loader.Disabled
	if on {
		change, want = c.EnableTable, loader.Enabled
	}
	under, began := retry.Policy{First: 200 * time.Millisecond, Most: 5 * time.Second, For: serviceTime}, time.Now()
	for tries := 1; ; tries++ {
		if err := change(ctx, name); err != nil {
			return err
		}
		t, err := c.Describe(ctx, name)
		if err != nil || t.State == want {
			return err
		}
		wait, again := under.Next(began, tries)
		if !again {
			return fmt.Errorf("table %s is %s after %s: look at the master's procedures", name, t.State, serviceTime)
		}
		if err := retry.Sleep(ctx, wait); err != nil {
			return err
		}
	}
}
