package mapreduce

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"time"

	"bulkload/internal/model/fail"
	"bulkload/internal/pipeline/share"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/setting"
)

// A verdict is the reason why an attempt failed. It is in the job's directory, because Hadoop removes the output of failed attempts.
type verdict struct {
	Attempt string `json:"attempt"`
	Kind    string `json:"kind"`
	// Permanent means that another attempt would fail in the same way.
	Permanent bool   `json:"permanent"`
	Error     string `json:"error"`

	at time.Time
}

// Limits for writing and reading verdicts.
const (
	maxVerdict  = 64 << 10
	maxVerdicts = 200
)

var verdictFile = regexp.MustCompile(`^attempt_[0-9]{1,19}_[0-9]{1,10}_[mr]_[0-9]{1,9}_[0-9]{1,9}\.json$`)

// permanent reports whether a retry would not help because the data or the settings are at fault. An unreadable input may be readable
// elsewhere.
func permanent(err error) bool {
	k := fail.KindOf(err)
	return !k.Retry() && k != fail.Input
}

// writeVerdict records the reason why an attempt failed.
func writeVerdict(ctx context.Context, fsys hdfsio.FS, dir, attempt string, cause error) error {
	b, err := json.Marshal(verdict{Attempt: attempt, Kind: fail.KindOf(cause).String(), Permanent: permanent(cause), Error: setting.Shorten(cause.Error(), maxVerdict/4)})
	if err != nil {
		return err
	}
	return share.WriteOnce(ctx, fsys, path.Join(dir, attempt+".json"), b)
}

// err returns the failure as an error.
func (v *verdict) err() error {
	k, _ := fail.ParseKind(v.Kind)
	return fail.With(k, fmt.Errorf("%s (%s)", v.Error, v.Attempt))
}

// verdicts reads the verdicts of attempts, the oldest first. It skips the verdicts in seen and adds the new ones.
func verdicts(ctx context.Context, fsys hdfsio.FS, dir string, seen map[string]bool) (all []*verdict, err error) {
	entries, err := fsys.ReadDir(ctx, dir)
	if err != nil {
		return nil, fail.With(fail.HDFS, err)
	}
	for _, e := range entries {
		if !verdictFile.MatchString(e.Name()) || seen[e.Name()] {
			continue
		}
		v, err := readVerdict(ctx, fsys, path.Join(dir, e.Name()))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		v.at = e.ModTime()
		if seen != nil {
			seen[e.Name()] = true
		}
		if all = append(all, v); len(all) == maxVerdicts {
			break
		}
	}
	slices.SortStableFunc(all, func(a, b *verdict) int { return a.at.Compare(b.at) })
	return all, nil
}

func readVerdict(ctx context.Context, fsys hdfsio.FS, name string) (*verdict, error) {
	b, err := hdfsio.ReadFile(ctx, fsys, name, maxVerdict)
	if err != nil {
		return nil, fail.With(fail.HDFS, err)
	}
	v := &verdict{}
	if err := json.Unmarshal(b, v); err != nil {
		return nil, fail.Errorf(fail.Unexpected, "%s: %w", name, err)
	}
	return v, nil
}

// firstPermanent returns the first permanent verdict, which ends the job, or nil.
func firstPermanent(all []*verdict) *verdict {
	for _, v := range all {
		if v.Permanent {
			return v
		}
	}
	return nil
}
