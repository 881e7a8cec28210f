// Package arch holds the tests that keep the project's structure: who imports
// whom. The file arrows.txt has every arrow; packages only import what stands
// below them.
package arch
