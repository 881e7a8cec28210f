package serve

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"bulkload/internal/serve/query"
	"bulkload/pkg/loader"
)

// counted is a table whose checks of salts are counted and have a given result.
type counted struct {
	query.Cluster
	regions []loader.Region
	found   query.Salts
	err     error
	checks  int
}

func (c *counted) Name() loader.TableName { return loader.TableName{} }

func (c *counted) CheckSalts(context.Context) (query.Salts, error) {
	c.checks++
	return c.found, c.err
}

func (c *counted) KnownRegions(context.Context, loader.TableName) ([]loader.Region, error) {
	return c.regions, nil
}

// TestChecksOfSalts checks how often salts are compared: before each request while the table is empty, once in a while while it has other rows, and
// once if they are right.
func TestChecksOfSalts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, c := &fit{}, &counted{regions: make([]loader.Region, 1)}
		request := func(what string, found query.Salts, err error, checked bool) {
			t.Helper()
			c.found, c.err = found, err
			before := c.checks
			within := repeatCheck
			if strings.HasPrefix(what, "nothing found") {
				within = emptyCheck
			}
			if got := f.check(t.Context(), c, within); !errors.Is(got, err) && checked {
				t.Errorf("%s: %v, want %v", what, got, err)
			}
			if c.checks > before != checked {
				t.Errorf("%s: %d checks", what, c.checks-before)
			}
		}
		probe := func(what string, found query.Salts, err error, checked bool) {
			t.Helper()
			c.found, c.err = found, err
			before := c.checks
			if _ = f.recheck(t.Context(), c, c); c.checks > before != checked {
				t.Errorf("%s: %d checks", what, c.checks-before)
			}
		}
		request("no rows", query.SaltsOfNoRow, nil, true)
		request("still no rows", query.SaltsOfNoRow, nil, true)
		request("other rows", query.SaltsUnknown, nil, true)
		request("soon after", query.SaltsUnknown, nil, false)
		request("nothing found, soon after", query.SaltsUnknown, nil, false)
		<-time.After(emptyCheck)
		request("found something, a little later", query.SaltsUnknown, nil, false)
		request("nothing found, a little later", query.SaltsUnknown, nil, true)
		<-time.After(emptyCheck)
		request("nothing found, with rows that do not fit", 0, query.ErrSaltsUnfit, true)
		request("other rows again", query.SaltsUnknown, nil, true)
		probe("the first probe", query.SaltsUnknown, nil, true)
		probe("the next probe", query.SaltsUnknown, nil, false)
		<-time.After(repeatCheck)
		request("later", query.SaltsUnknown, nil, true)
		c.regions = make([]loader.Region, 1)
		probe("other regions", 0, query.ErrSaltsUnfit, true)
		request("rows that do not fit", 0, query.ErrSaltsUnfit, true)
		request("they are gone", query.SaltsOfNoRow, nil, true)
		request("rows that fit", query.SaltsFit, nil, true)
		<-time.After(repeatCheck)
		request("they fit", query.SaltsFit, nil, false)
		request("nothing found, and they fit", query.SaltsFit, nil, false)
		probe("with other regions", query.SaltsFit, nil, true)
		probe("with the same regions", query.SaltsFit, nil, false)
	})
}

// TestLateChecksOfSalts checks that a check that has read before another one found salts that do not fit does not stop the next checks.
func TestLateChecksOfSalts(t *testing.T) {
	f := &fit{}
	before := f.unknown.Load()
	if err := f.recheck(t.Context(), &counted{regions: make([]loader.Region, 1)}, &counted{err: query.ErrSaltsUnfit}); err == nil {
		t.Error("no error")
	}
	if f.note(query.SaltsUnknown, before); f.known(repeatCheck) {
		t.Error("no more checks")
	}
}
