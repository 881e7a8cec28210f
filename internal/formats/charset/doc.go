// Package charset decodes the character sets of database exports, with tables made
// from golang.org/x/text. It also finds where characters begin in raw bytes, for
// parsers that look for separators before they decode.
//
// [Lookup] returns a [Charset]. [Charset.Append] decodes single values without
// allocating, and returns the position of bytes that are not a character.
// [Charset.NewReader] decodes a stream, mainly for UTF-16. [Detect] guesses the
// character set of a file and gives its reasons.
//
// # Names
//
// Some names need an explanation:
//
//	gbk, gb2312, cp936   gb18030, which contains them; 80 is the euro sign
//	latin1               cp1252, as in MySQL. It differs from iso-8859-1 only in 80
//	                     to 9F, where other writers of Latin-1 (PostgreSQL, Java)
//	                     have control characters that tables do not contain.
//	                     iso-8859-1 selects these control characters
//	cp932, cp949         shift_jis and euc-kr, in the extended forms that programs
//	                     have written under these names for decades
//	big5                 with the characters of Hong Kong
//	utf-16               in the byte order of its byte order mark
//
// # Where characters begin
//
// In GB18030, Big5, Shift JIS and code page 949 the second byte of a character
// may be an ASCII character. Bytes below [Charset.Safe] are never part of a longer
// character:
//
//	00     UTF-16, and EBCDIC's cp037, cp500, cp1047, cp1140: decode it first
//	30     GB18030
//	40     Big5, Shift JIS
//	41     EUC-KR (code page 949)
//	80     UTF-8, EUC-JP, and sets of single bytes
//
// So line ends, blanks, quotes and commas can be searched for in the raw bytes of all
// sets but those of the first line. A backslash or a bar counts only where
// [Charset.Starts] reports the beginning of a character. Both hold for damaged text
// too: an invalid sequence ends before a safe byte.
//
// # Decoded characters
//
// Bytes are decoded as x/text decodes them, which follows the WHATWG's standard,
// with three exceptions:
//
//   - Bytes that are not a character are reported.
//   - Pairs for private use in GB18030, Shift JIS and code page 949 become the
//     characters U+E000 to U+E864 that GB 18030-2005 and the code pages assign to
//     them, because names of people are written with them. x/text does not have these
//     pairs, except for A3A0 of GB18030, which it reads as a space.
//   - The second byte of a four-byte character of GB18030 must be a digit; x/text
//     also accepts 3A to 3F.
//
// Tests compare the results with those of x/text for every sequence, and with Python's
// codecs.
//
// Vendors disagree about some characters. Java 17 differs from this package in these:
//
//	gb18030     38 sequences that GB 18030-2022 moved: A6D9 to A6F3, A8BC, FE59 to
//	            FEA0, and the four-byte sequences that were exchanged with them
//	gbk         A892, and 80 pairs that are private in Java's GBK and characters in
//	            GB18030
//	big5        14 signs of A145 to A247. In addition, Java's Big5 differs from C6A1
//	            to C8FE, and its Big5-HKSCS in 6 pairs of C6CF to C6DF; x-windows-950
//	            has private characters in place of Hong Kong's
//	shift_jis   none in windows-31j; 7 signs in Java's Shift_JIS
//	euc-jp      7 signs, including a wave and a minus; in x-eucJP-Open also FCFB and
//	            FCFC
//	euc-kr      none, except that A2E8 of Java's EUC-KR is not a character here
//
// In all parts of ISO 8859 but the first, bytes 80 to 9F are not characters. In
// Windows' code pages, bytes without a character are control characters.
package charset
