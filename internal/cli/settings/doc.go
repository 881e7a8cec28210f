// Package settings finds where the value of a setting comes from: a flag, else the environment, else the job file,
// else the configuration file. It sets the flags from these sources before a command runs, so that a command reads
// only flags, records the origin of each value for messages and `config show`, and fills days into paths.
package settings
