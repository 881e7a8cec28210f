// Package settings finds where the value of a setting comes from: a flag, else the
// environment, else the job file, else the configuration file. It gives flags what
// those say before a command runs, so that a command sees flags alone, remembers
// the origin of each for messages and `config show`, and fills days into paths.
package settings
