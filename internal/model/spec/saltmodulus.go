package spec

import (
	"bulkload/internal/model/fail"
	"bulkload/pkg/keygen"
	"bulkload/pkg/partition"
	"bulkload/pkg/setting"
)

// SaltModulus returns the modulus of the salt. By default it is the number of salts
// for which the table was split. SaltModulus refuses a table that is not split by salt,
// because a wrong modulus would put rows where no reader looks for them.
func (j Job) SaltModulus(splits [][]byte) (int, error) {
	if j.Regions > 0 {
		return j.Regions, nil
	}
	if n := partition.SaltModulus(splits); n > 0 {
		return n, nil
	}
	if !keygen.NeedsRegions(j.rowKey) {
		return 1, nil
	}
	return 0, fail.Errorf(fail.Config, "the key %s needs a modulus for its salt, and the %s of the table are not split by salt: give the modulus that readers of the table use with %s",
		j.rowKey, setting.Count(len(splits)+1, "region"), setting.SaltBuckets)
}
