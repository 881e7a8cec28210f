// Package abilities is one table: which kind of work, such as a run of several tables or an undo, has which ability, such as being
// built on YARN or resumed on another host. A cell names the tests that show it, or says why the program does not have it. [Refusal] makes
// that reason an error, which the program gives where it is asked for the combination; docs/abilities.md is written of the table.
//
// Nothing here has state; everything may be used by several goroutines.
package abilities
