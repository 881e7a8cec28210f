// Package keygen turns the fields of a record into a row key, as a spec says:
//
//	salt(check_id) + md5hex(check_id) + id
//
// # The language
//
// A spec is one or more parts joined by +, and the key is their bytes one
// after the other. A part is
//
//	check_id                a column: the field's bytes
//	'::'  or  "::"          a literal; escapes are \\ \' \" \n \r \t \xNN
//	salt(e, …[, n])         |Java's String.hashCode of the arguments joined, mod n|, in
//	                        decimal, padded with zeros to the width of n−1; without n
//	                        the job's number of regions
//	md5hex(e, …)            MD5 of the arguments joined, 32 lower-case hex digits
//
// where e is again an expression, so salt(buss_no + business_type) and
// salt(buss_no, business_type) are the same. A column whose name is no
// identifier is written in back quotes.
//
// [Parse] gives an [Expr], [Compile] a [Program] that appends keys to a byte
// slice without allocating.
//
// # Java
//
// hashCode is that of a Java String: over UTF-16 units, so a character beyond
// U+FFFF counts as two, wrapping in 32 bits. The salt takes the remainder
// first and then its absolute value, which is defined for −2³¹ too.
package keygen
