// Package profiling reads an input, or an even sample of its parts, and makes its [profile.Profile]: [Run].
//
// Workers take parts as pass 1 of a build does, and their counts are added in the order of the parts, so that the profile does not depend
// on the number of workers. Bad records are counted as a build counts those that cannot be read; no keys or cells are made.
//
// Expectations are made of the profile, and then the input is read once more and held to them by the code of a build: what is not met is
// left out.
package profiling
