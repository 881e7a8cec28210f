//go:build !race

package race

// On says that the race detector is on.
const On = false
