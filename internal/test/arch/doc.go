// Package arch holds the tests that keep the project's structure: what imports
// what, and what should not have to be read. The file arrows.txt has every arrow;
// packages only import what stands below them. It also holds the code to rules that
// a parser sees: parentheses around operators of bits, and tests whose outcome does
// not depend on chance.
package arch
