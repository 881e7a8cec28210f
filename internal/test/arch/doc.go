// Package arch has the tests of the project's structure: the imports, the text in the code, and files that need not
// be read. The file arrows.txt lists every arrow; packages only import packages below them. It also checks rules that
// a parser can check: parentheses around bit operators, and tests whose outcome does not depend on chance.
package arch
