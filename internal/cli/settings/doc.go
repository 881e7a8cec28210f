// Package settings determines the value of each setting: from its flag, else from the environment, else from the job file,
// else from the configuration file. It sets the flags from these sources before a command runs, so that a command reads
// only flags, records the origin of each value for messages and `config show`, and fills days into paths.
package settings
