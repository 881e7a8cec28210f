package testcheck

import "runtime"

// Allocated returns the number of bytes that do allocates. No other goroutine may allocate meanwhile.
func Allocated(do func()) int64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return int64(after.TotalAlloc - before.TotalAlloc)
}
