package mapreduce

import (
	"context"
	"errors"
	"fmt"
	"path"
	"reflect"
	"regexp"

	"bulkload/internal/model/fail"
	"bulkload/internal/pipeline/share"
	"bulkload/pkg/hdfsio"
)

// Descriptions of maps are in the job's directory and not in its output: in a job with reduces, a new ApplicationMaster does not take
// over the maps' committed output from its predecessor (JobImpl.scheduleTasks of Hadoop 3.4 requests that only without reduces). Each
// attempt that ended therefore has a description, and they must agree.
func mapFile(attempt string) string    { return attempt + ".json" }
func rejectFile(attempt string) string { return attempt + ".rejects.jsonl" }

func filteredFile(attempt string) string { return attempt + ".filtered.jsonl" }

var mapName = regexp.MustCompile(`^attempt_[0-9]{1,19}_[0-9]{1,10}_m_[0-9]{1,9}_[0-9]{1,9}\.json$`)

// errNoMap reports a map without a finished attempt.
var errNoMap = errors.New("no attempt of a map wrote its description")

// readMaps reads the descriptions of all maps from a job's directory, in the order of the input. If a map has several attempts, it
// returns the last.
func readMaps(ctx context.Context, fsys hdfsio.FS, dir string, w *Work) ([]*MapDone, error) {
	dir = path.Join(dir, mapsName)
	entries, err := fsys.ReadDir(ctx, dir)
	if err != nil {
		return nil, fail.With(fail.HDFS, err)
	}
	all := make([]*MapDone, w.Maps)
	for _, e := range entries {
		if !mapName.MatchString(e.Name()) {
			continue
		}
		d := &MapDone{}
		name := path.Join(dir, e.Name())
		err := share.ReadSealed(ctx, fsys, name, d, &d.Checksum)
		if err == nil && (d.Schema != 1 || d.Work != w.Checksum || d.Map < 1 || d.Map > w.Maps || mapFile(d.Attempt) != e.Name()) {
			err = errors.New("it belongs to another job")
		}
		if err != nil {
			return nil, fail.With(fail.HDFS, fmt.Errorf("%s: %w", name, err))
		}
		other := all[d.Map-1]
		if other != nil && !d.agrees(other) {
			return nil, fail.Errorf(fail.Input, "%s and %s have read other rows of the same part of the input: it has changed meanwhile, or a node is at fault", other.Attempt, d.Attempt)
		}
		if other == nil || d.Ran.Ended.After(other.Ran.Ended) {
			all[d.Map-1] = d
		}
	}
	for k, d := range all {
		if d == nil {
			return nil, fail.With(fail.HDFS, fmt.Errorf("%s: %w: %d of %d", dir, errNoMap, k+1, w.Maps))
		}
	}
	return all, nil
}

// agrees reports whether two attempts of a map have read the same input and written the same rows.
func (d *MapDone) agrees(o *MapDone) bool {
	return d.PartRead.Agrees(&o.PartRead) && reflect.DeepEqual(d.Regions, o.Regions)
}
