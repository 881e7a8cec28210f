package mapreduce

import (
	"cmp"
	"time"
)

// Prediction holds the predicted resources of a job on YARN.
type Prediction struct {
	Maps         int           `json:"maps"`
	Reduces      int           `json:"reduces"`
	MapMemory    int           `json:"map_memory_mb"` // of a container, MiB
	ReduceMemory int           `json:"reduce_memory_mb"`
	ShuffleBytes int64         `json:"shuffle_bytes"`
	CoreTime     time.Duration `json:"core_ns"` // sum over all containers
}

// Measured values of jobs: processor time of a task before it starts to work, processor time of the ApplicationMaster, and bytes of packed
// rows for each byte of text.
const (
	taskTime    = 4500 * time.Millisecond
	masterTime  = 10 * time.Second
	packedShare = 0.6
)

// Predict predicts a job whose work takes the given time in one process, over all cores. shares are the regions' shares of its rows.
func (s Settings) Predict(input, text int64, shares []float64, work time.Duration) Prediction {
	p := Prediction{MapMemory: cmp.Or(s.MapMemory, DefaultMapMemory), ReduceMemory: cmp.Or(s.ReduceMemory, DefaultReduceMemory), ShuffleBytes: int64(packedShare * float64(text))}
	p.Maps = cmp.Or(s.Maps, chosenMaps(input, Container{Memory: p.ReduceMemory, Heap: reduceHeap}))
	weights := make([]int64, len(shares))
	for i, part := range shares {
		weights[i] = int64(part * float64(text))
	}
	p.Reduces = len(reduceRanges(weights, len(shares), input, s.Reduces))
	p.CoreTime = work + masterTime + time.Duration(p.Maps+p.Reduces)*taskTime
	return p
}
