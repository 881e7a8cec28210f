package serve

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"bulkload/internal/formats/yamlfile"
	"bulkload/internal/model/spec"
	"bulkload/internal/serve/query"
	"bulkload/internal/serve/rowjson"
)

// Limits of a directory of job files.
const (
	maxJobs    = 1000
	maxJobFile = yamlfile.MaxSize
)

// resource is a job file as its callers see it. It is immutable except for its state.
type resource struct {
	name    string
	job     spec.Job
	bound   []byte   // data that its page tokens are bound to: the file's name and content
	columns []string // columns of a query key
	shape   *rowjson.Shape
	granted []string // columns that a client may read, nil for all
	all     *rowjson.Shape
	table   *query.Table
	indexes []*index
	fit     *fit
	state   *atomic.Pointer[tableState] // shared with the resource of the same name that this one replaces
}

// resources are the resources of one load, in the order of their names.
type resources struct {
	list    []*resource
	byName  map[string]*resource
	openAPI []byte
}

// loadResources reads all job files of a directory, or none. The error lists everything that is wrong with them.
func loadResources(dir string, c query.Cluster, before *resources) (*resources, error) {
	files, err := jobFiles(dir)
	if err != nil {
		return nil, err
	}
	rs := &resources{byName: map[string]*resource{}}
	var errs []error
	for _, file := range files {
		r, err := loadResource(file, c)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if rs.byName[r.name] != nil {
			errs = append(errs, fmt.Errorf("two job files in %s have the name %s", dir, r.name))
			continue
		}
		r.state = &atomic.Pointer[tableState]{}
		if old := before.byName[r.name]; old != nil && old.job.Table == r.job.Table {
			r.state = old.state
		}
		rs.list = append(rs.list, r)
		rs.byName[r.name] = r
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	if len(rs.list) == 0 {
		return nil, fmt.Errorf("no job file in %s: one is named NAME.yaml", dir)
	}
	return rs, nil
}

// jobFiles returns the paths of the job files in a directory, sorted.
func jobFiles(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("read the job files: %w", err)
	}
	var names []string
	for _, e := range entries {
		if ext := filepath.Ext(e.Name()); !strings.HasPrefix(e.Name(), ".") && (ext == ".yaml" || ext == ".yml") {
			names = append(names, filepath.Join(dir, e.Name()))
		}
	}
	if len(names) > maxJobs {
		return nil, fmt.Errorf("%s has %d job files, more than %d", dir, len(names), maxJobs)
	}
	return names, nil
}

func loadResource(path string, c query.Cluster) (r *resource, err error) {
	name := strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	defer func() {
		if err != nil && !strings.Contains(err.Error(), path) {
			err = fmt.Errorf("job file %s: %w", path, err)
		}
	}()
	if !isJobName(name) {
		return nil, errors.New("its name does not fit a path: letters, digits, - and _ of ASCII, at most 64")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxJobFile+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxJobFile {
		return nil, fmt.Errorf("it is larger than %d bytes", maxJobFile)
	}
	s, err := spec.ParseSpec(path, data)
	if err != nil {
		return nil, err
	}
	job, err := s.Resolve()
	if err != nil {
		return nil, err
	}
	r = &resource{name: name, job: job, shape: rowjson.New(job.Spec()), fit: &fit{}}
	digest := sha256.Sum256(data)
	r.bound = append(append([]byte(name), 0), digest[:]...)
	if r.columns, err = query.Columns(job); err != nil {
		return nil, err
	}
	isOwn := func(column string) bool { return slices.Contains(ownParameters, column) }
	if i := slices.IndexFunc(r.columns, isOwn); i >= 0 {
		return nil, fmt.Errorf("the query column %q has the name of a parameter of the service", r.columns[i])
	}
	if r.indexes, err = indexesOf(c, job); err != nil {
		return nil, err
	}
	for _, x := range r.indexes {
		if i := slices.IndexFunc(x.columns, isOwn); i >= 0 {
			return nil, fmt.Errorf("the query column %q of index %s has the name of a parameter of the service", x.columns[i], x.name)
		}
	}
	r.table, err = query.NewTable(c, job.Targets()[0].Job)
	return r, err
}

func isJobName(name string) bool {
	for _, c := range []byte(name) {
		if (c|0x20 < 'a' || c|0x20 > 'z') && (c < '0' || c > '9') && c != '-' && c != '_' {
			return false
		}
	}
	return len(name) > 0 && len(name) <= 64
}

// shapeOf returns the shape of the given columns, or of all columns for nil.
func (r *resource) shapeOf(columns []string) (*rowjson.Shape, error) {
	if columns == nil {
		return r.shape, nil
	}
	shape, err := r.shape.Select(columns, query.SplitColumn)
	if e, ok := errors.AsType[*rowjson.ColumnError](err); ok {
		what := "rows of this job have no such column"
		if e.Twice {
			what = "the column is asked for twice"
		} else if r.all != nil {
			if _, err := r.all.Select([]string{e.Column}, query.SplitColumn); err == nil {
				return nil, problem(forbidden, "this client may not read the column").withParameter(e.Column)
			}
		}
		return nil, problem(badColumn, "%s", what).withParameter(e.Column)
	}
	return shape, err
}
