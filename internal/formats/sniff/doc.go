// Package sniff sees what a file is by how it begins: a format that cannot be read ([ForeignContent]), text that is no UTF-8 ([Wide]) or has two readings
// ([Ambiguous]), lines of JSON ([BeginsObject]), and a header that is none ([CheckHeader]).
package sniff
