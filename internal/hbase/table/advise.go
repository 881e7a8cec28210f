package table

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"bulkload/internal/model/fail"
	"bulkload/internal/model/spec"
	"bulkload/pkg/keygen"
	"bulkload/pkg/partition"
	"bulkload/pkg/setting"
)

// Access is the main access pattern of a table.
type Access string

// Access patterns.
const (
	AccessPoint      Access = "point"      // rows by their keys
	AccessScan       Access = "scan"       // ranges of keys
	AccessThroughput Access = "throughput" // maximal throughput of reads and writes
)

// AdviceOptions holds the inputs of [Advise].
type AdviceOptions struct {
	Bytes       int64       // of the table's HFiles now
	Growth      int64       // bytes a day
	Days        int         // planning horizon, default 365
	Servers     int         // region servers, default 3
	Access      Access      // default point
	MaxFileSize int64       // size at which a region splits, default 10 GiB (hbase.hregion.max.filesize)
	Key         keygen.Expr // if it is known
}

// Advice is a number of regions, with its reasons.
type Advice struct {
	Regions     int            `json:"regions"`
	Bytes       int64          `json:"bytes"`        // of the table at the planning horizon
	RegionBytes int64          `json:"region_bytes"` // on average, at the planning horizon
	Splits      string         `json:"splits"`       // for the splits of table create; empty if they depend on the keys
	Reasons     []setting.Text `json:"reasons"`
	Warnings    []setting.Text `json:"warnings"`
}

const (
	gib = int64(1) << 30
	// maxAdvised limits the regions of one table: each region costs memory on its server, and recovery time when the server fails.
	maxAdvised = 120
)

// Advise returns the number of regions into which a table should be split
// before its first load. Tables under 50 GiB get five to ten regions. Larger
// tables get regions of 7 GiB, and tables from 500 GiB on regions of 10 GiB. If
// such regions would soon split, they get half of the split size.
func Advise(o AdviceOptions) (*Advice, error) {
	o.Days = cmp.Or(o.Days, 365)
	o.Servers = cmp.Or(o.Servers, 3)
	o.Access = cmp.Or(o.Access, AccessPoint)
	o.MaxFileSize = cmp.Or(o.MaxFileSize, 10*gib)
	switch {
	case o.Bytes < 0 || o.Growth < 0 || o.Days < 0 || o.Days > 36500:
		return nil, fail.Errorf(fail.Config, "%s that grow by %d a day for %d days are too large for a table", setting.Count(o.Bytes, "byte"), o.Growth, o.Days)
	case o.Bytes == 0 && o.Growth == 0:
		return nil, fail.Errorf(fail.Config, "advice needs a size: give bytes, or rows and bytes per row")
	case o.Servers < 1 || o.Servers > 10_000:
		return nil, fail.Errorf(fail.Config, "%s outside 1..10000", setting.Count(o.Servers, "region server is"))
	case o.Access != AccessPoint && o.Access != AccessScan && o.Access != AccessThroughput:
		return nil, fail.Errorf(fail.Config, "access %q is invalid: want point, scan or throughput", o.Access)
	case o.MaxFileSize < 1<<20:
		return nil, fail.Errorf(fail.Config, "advice needs a larger region than one that splits at %s", setting.Count(o.MaxFileSize, "byte"))
	}
	a := &Advice{Warnings: []setting.Text{}}
	size := float64(o.Bytes) + float64(o.Growth)*float64(o.Days)
	a.Bytes = int64(min(size, math.MaxInt64/2))
	a.because("the table will have %s: %s now and %s a day for %d days", spec.Size(a.Bytes).Rounded(), spec.Size(o.Bytes).Rounded(), spec.Size(o.Growth).Rounded(), o.Days)
	a.bySize(o)
	a.byAccess(o)
	a.bySplitSize(o)
	a.byKey(o)
	a.RegionBytes = a.Bytes / int64(a.Regions)
	if a.RegionBytes > 20*gib {
		a.warn("regions of %s are slow to compact and to move: consider fewer days, a TTL, or several tables", spec.Size(a.RegionBytes).Rounded())
	}
	return a, nil
}

func (a *Advice) because(format string, args ...any) {
	a.Reasons = append(a.Reasons, setting.Textf(format, args...))
}

func (a *Advice) warn(format string, args ...any) {
	a.Warnings = append(a.Warnings, setting.Textf(format, args...))
}

// bySize sets the number from the size alone.
func (a *Advice) bySize(o AdviceOptions) {
	of := func(region int64) int { return int(min((a.Bytes+region-1)/region, maxAdvised)) }
	switch early := o.MaxFileSize <= 4*gib; {
	case a.Bytes < 50*gib:
		a.Regions = min(max(of(5*gib), 5), 10)
		a.because("a table under 50 GiB needs 5 to 10 regions: %d", a.Regions)
	case early:
		a.Regions = of(o.MaxFileSize / 2)
		a.because("regions split at %s, so they begin with half of that: %d", spec.Size(o.MaxFileSize).Rounded(), a.Regions)
	case a.Bytes < 500*gib:
		a.Regions = of(7 * gib)
		a.because("between 50 and 500 GiB, regions of 6 to 8 GiB: %d", a.Regions)
	default:
		a.Regions = of(10 * gib)
		a.because("from 500 GiB on, regions of 10 GiB, %d at most: %d", maxAdvised, a.Regions)
	}
}

// byAccess adjusts the number to the servers and the access pattern.
func (a *Advice) byAccess(o AdviceOptions) {
	switch {
	case o.Access == AccessThroughput && a.Regions < 2*o.Servers:
		a.Regions = 2 * o.Servers
		a.because("for throughput each of the %d servers gets at least two regions: %d", o.Servers, a.Regions)
	case o.Access == AccessScan && a.Regions/2 >= o.Servers && a.Regions >= 10:
		a.Regions /= 2
		a.because("scans of ranges cross fewer boundaries with fewer regions: %d", a.Regions)
	case o.Access != AccessScan && a.Regions < o.Servers:
		a.Regions = o.Servers
		a.because("no fewer than the %s, so that all take rows of the load: %d", setting.Count(o.Servers, "region server"), a.Regions)
	}
}

// bySplitSize raises the number so that regions need not split soon.
func (a *Advice) bySplitSize(o AdviceOptions) {
	if room := o.MaxFileSize / 10 * 7; a.Bytes/int64(a.Regions) > room {
		need := int((a.Bytes + room - 1) / room)
		if need > maxAdvised {
			a.warn("regions of %s will split, as they split at %s: set a max file size of %s or more with %s",
				spec.Size(a.Bytes/int64(a.Regions)).Rounded(), spec.Size(o.MaxFileSize).Rounded(), spec.Size(a.Bytes/int64(a.Regions)*3/2).Rounded(), setting.MaxFileSize)
			return
		}
		a.Regions = need
		a.because("so that regions, which split at %s, fill up to 70 %% only: %d", spec.Size(o.MaxFileSize).Rounded(), a.Regions)
	}
}

// byKey sets the splits for keys that begin with a salt or hash.
func (a *Advice) byKey(o AdviceOptions) {
	if o.Key == nil {
		return
	}
	call, _ := keygen.Parts(o.Key)[0].(keygen.Call)
	form := map[string]string{"md5hex": "hex", "sha1hex": "hex", "sha256hex": "hex", "crc32hex": "hex", "murmur3hex": "hex",
		"md5raw": "uniform", "sha1raw": "uniform", "sha256raw": "uniform", "crc32raw": "uniform", "murmur3raw": "uniform", "md5shift": "md5", "salt": "salt", "bytesalt": "bytesalt", "javasalt": "javasalt"}[call.Func]
	if (form == "bytesalt" || form == "javasalt") && len(call.Ints) == 0 {
		form = ""
	}
	switch {
	case form == "":
		a.because("the key %s does not begin with a salt or hash: bulkload plan %s %d finds split points from the data", o.Key, setting.Suggest, a.Regions)
		return
	case len(call.Ints) > 0 && strings.HasSuffix(form, "salt"):
		splits, ok := partition.SplitsOfSalt(form, call.Ints[0])
		if !ok {
			a.because("the key's salt has %s, more than a table has regions: bulkload plan %s %d finds split points from the data", setting.Count(call.Ints[0], "value"), setting.Suggest, a.Regions)
			return
		}
		if n := len(splits) + 1; n != a.Regions {
			a.because("the key's salt has %s, so the table gets %s, not %d", setting.Count(n, "value"), setting.Count(n, "region"), a.Regions)
			a.Regions = n
		}
		a.Splits = fmt.Sprintf("%s:%d", form, call.Ints[0])
		return
	case form == "salt":
		a.because("the salt gets as many values as there are regions, one region each")
	default:
		a.because("keys that begin with %s are spread evenly, as the split points of %s are", call.Func, form)
	}
	a.Splits = fmt.Sprintf("%s:%d", form, min(a.Regions, partition.MaxRegions))
}
