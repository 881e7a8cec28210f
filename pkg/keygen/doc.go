// Package keygen makes a row key from the fields of a record according to a spec:
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
//	f(e, …, n, …)           a function of expressions and, after them, integers
//
// A column whose name is not an identifier is written in back quotes. Functions
// that hash take one or more expressions and join them, so salt(a + b) and
// salt(a, b) are the same. Some functions return an integer, which is written in
// decimal where bytes are required; where an integer is required, text is parsed
// as decimal digits. docs/keys.md is the reference; [Recipes] are key designs that
// are in use.
//
// [Parse] returns an [Expr]. [Check] returns a report on its keys without a record,
// and [Compile] a [Program] that appends keys to a byte slice without
// allocating.
//
// # Java
//
// Java programs read the keys, so hashes equal those of a Java String: they
// process UTF-16 units, so a character beyond U+FFFF counts as two, and wrap in
// 32 bits. The salt is the absolute value of the remainder, and not the remainder of
// the absolute value, which Java cannot compute for −2³¹. Dates follow java.time.
//
// # Errors
//
// For a record without a key the error is a [*FieldError], which names the
// column and the part of the spec. An empty column is an error unless the spec
// says orempty(column). Bytes that are not UTF-8 are
// errors only for functions that work on characters.
package keygen
