package progress

import "time"

// Pace holds the durations of an earlier job of the same table. The remaining time of a running job is estimated from them.
type Pace struct {
	Records int64         `json:"records"`
	Regions int           `json:"regions"` // regions that received files
	Read    time.Duration `json:"read_ns"` // of reading and sorting
	Write   time.Duration `json:"write_ns"`
	Load    time.Duration `json:"load_ns"`
	Verify  time.Duration `json:"verify_ns"`
	Mode    string        `json:"verify"` // mode of verification
}
