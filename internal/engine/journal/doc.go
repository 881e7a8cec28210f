// Package journal keeps what a job is about to do and its result, so
// that the same command can continue after a crash.
//
// A journal is a file of JSON lines that only grows:
//
//	{"seq":1,"time":"2017-10-12T01:02:03.4Z","event":"plan", …}
//
// A record that must be on disk before the act that it announces is written
// with sync; others reach the disk when the system likes, and survive the end
// of the process, though not of the machine. A line that a crash has torn is
// cut off when the journal is opened. Readers ignore events and fields that
// they do not know.
package journal
