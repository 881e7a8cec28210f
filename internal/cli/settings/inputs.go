package settings

import "strings"

// sources are the possible origins of a setting, in ascending order of precedence.
var sources = []string{"config file ", "job file ", "environment variable ", "flag "}

// rank returns the precedence of an origin, 0 for a default.
func rank(origin string) int {
	for i, s := range sources {
		if strings.HasPrefix(origin, s) {
			return i + 1
		}
	}
	return 0
}

// Given reports whether the command line gives a flag, as opposed to a file or the environment, which apply to all
// commands.
func (s *Settled) Given(flag string) bool { return rank(s.Origins[flag]) == len(sources) }

// Overridden returns the weaker of the two settings of inputs, as a flag: input or inputs-from. It is empty if both have the same
// source, or neither is set.
func (s *Settled) Overridden() string {
	switch named, listed := rank(s.Origins["input"]), rank(s.Origins["inputs-from"]); {
	case named > listed:
		return "inputs-from"
	case listed > named:
		return "input"
	}
	return ""
}
