package progress

import "time"

// Pace has the speed of an earlier job of the same table, from which the time of a running job is predicted.
type Pace struct {
	Records int64         `json:"records"`
	Regions int           `json:"regions"` // that took files
	Read    time.Duration `json:"read_ns"` // and sort
	Write   time.Duration `json:"write_ns"`
	Load    time.Duration `json:"load_ns"`
	Verify  time.Duration `json:"verify_ns"`
	Mode    string        `json:"verify"` // of the verification
}
