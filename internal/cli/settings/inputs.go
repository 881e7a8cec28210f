package settings

import "strings"

// sources are where a setting can come from, the strongest last.
var sources = []string{"config file ", "job file ", "environment variable ", "flag "}

// rank returns the place of an origin among the sources, 0 for a default.
func rank(origin string) int {
	for i, s := range sources {
		if strings.HasPrefix(origin, s) {
			return i + 1
		}
	}
	return 0
}

// Given reports whether a flag was given with the command, and not by a file or the environment, which are for all commands.
func (s *Settled) Given(flag string) bool { return rank(s.Origins[flag]) == len(sources) }

// Overridden returns the weaker one of the two settings that say what is read, as a flag: input or inputs-from. It is empty where one source
// has both, or there are none.
func (s *Settled) Overridden() string {
	switch named, listed := rank(s.Origins["input"]), rank(s.Origins["inputs-from"]); {
	case named > listed:
		return "inputs-from"
	case listed > named:
		return "input"
	}
	return ""
}
