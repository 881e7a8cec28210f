// Package abilities is a table of the kinds of work, such as a run of several tables or an undo, and their abilities, such as a build
// on YARN or a resume on another host. A cell names the tests that demonstrate the ability, or the reason why the program lacks it. [Refusal]
// returns that reason as an error, which the program reports when a user requests the combination. docs/abilities.md is generated from the table.
//
// The package has no state: all functions may be called by several goroutines.
package abilities
