// Package schema makes the JSON schemas by which editors check and complete files: [Job] that of a job file, [Config] that of
// the configuration file. They have the fields of a job and the settings of the program's flags.
package schema
