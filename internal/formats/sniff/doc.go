// Package sniff examines the beginning of a file: it detects unsupported formats ([ForeignContent]), text that is UTF-16 ([Wide]) or ambiguous
// ([Ambiguous]), lines of JSON ([BeginsObject]), and invalid headers ([CheckHeader]).
package sniff
