//go:build race

package race

// On reports whether the race detector is on.
const On = true
