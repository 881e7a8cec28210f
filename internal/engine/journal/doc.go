// Package journal records what a job is about to do and has done, so that
// the same command can resume it after a crash.
//
// A journal is a file of JSON lines that only grows:
//
//	{"seq":1,"time":"2017-10-12T01:02:03.4Z","event":"plan", …}
//
// A record that announces an action is written with sync, so that it is on disk
// before the action. Others reach the disk when the system writes them: they
// survive the end of the process, but not a crash of the machine. A line that a
// crash has torn is cut off when the journal is opened. Readers ignore unknown
// events and fields.
package journal
