// Package profiling reads an input, or an even sample of its parts, and makes its [profile.Profile]: [Run].
//
// Workers take parts as pass 1 of a build does. Their counts are added in the order of the parts, so that the profile does not depend on the number
// of workers. Unreadable records are counted as a build counts them; no keys or cells are made.
//
// Expectations are derived from the profile. Then the input is read again and compared with them by the code of a build; expectations that are not
// met are dropped.
package profiling
