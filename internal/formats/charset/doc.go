// Package charset decodes the character sets that exports of databases are
// written in, by tables made of golang.org/x/text, and says where characters
// begin in raw bytes, for parsers that look for separators before they decode.
//
// A [Charset] comes from [Lookup]. [Charset.Append] decodes one value after the
// other without an allocation, and says where it met bytes that are no
// character. [Charset.NewReader] decodes a stream, for UTF-16 above all. [Detect]
// guesses what a file is in, with reasons.
//
// # Names
//
// Most names mean what they say. The others:
//
//	gbk, gb2312, cp936   gb18030, which contains them; 80 is the euro sign
//	latin1               cp1252, as in MySQL. It differs from iso-8859-1 in 80 to 9F
//	                     alone, which other writers of Latin-1 (PostgreSQL, Java)
//	                     leave to control characters that no table has. Who means
//	                     those says iso-8859-1
//	cp932, cp949         shift_jis and euc-kr, in the extended forms that have been
//	                     written by these names for decades
//	big5                 with the characters of Hong Kong
//	utf-16               in the order of its byte order mark
//
// # Where characters begin
//
// In GB18030, Big5, Shift JIS and code page 949 the second byte of a character
// may be an ASCII character. No character holds a byte below [Charset.Safe]:
//
//	00     UTF-16, and EBCDIC's cp037, cp500, cp1047, cp1140: decode it first
//	30     GB18030
//	40     Big5, Shift JIS
//	41     EUC-KR (code page 949)
//	80     UTF-8, EUC-JP, and sets of single bytes
//
// Line ends, blanks, quotes and commas are so found as they are in all of these;
// a backslash or a bar only where [Charset.Starts] says that a character begins.
// That holds for damaged text too: what is not a character ends before a safe byte.
//
// # Decoded characters
//
// Every byte, pair and longer sequence is decoded as by x/text, which follows
// the WHATWG's standard, with three exceptions. Bytes that are not a character are
// said to be. Pairs of GB18030, Shift JIS and code page 949 for private use, which
// x/text lacks, are the characters U+E000 to U+E864 that GB 18030-2005 and the code
// pages give them: names of people are written with them. Of these x/text reads
// A3A0 of GB18030 as a space. And the second byte of a character of four in
// GB18030 must be a digit; x/text takes 3A to 3F too. Tests hold this to all that
// x/text decodes, and to Python's codecs.
//
// Where vendors disagree, Java 17 decodes otherwise:
//
//	gb18030     38 sequences that GB 18030-2022 moved: A6D9 to A6F3, A8BC, FE59 to
//	            FEA0, and those of four bytes that they were exchanged with
//	gbk         A892, and 80 pairs that are private in Java's GBK and characters in
//	            GB18030
//	big5        14 signs of A145 to A247. Java's Big5 has other characters from C6A1
//	            to C8FE, Big5-HKSCS 6 of C6CF to C6DF; x-windows-950 has private ones
//	            where Hong Kong's are
//	shift_jis   nothing in windows-31j; Java's Shift_JIS has 7 signs otherwise
//	euc-jp      7 signs, a wave and a minus among them; x-eucJP-Open FCFB and FCFC too
//	euc-kr      nothing; A2E8 of Java's EUC-KR is not a character here
//
// In the parts of ISO 8859 but the first, bytes 80 to 9F are not characters; in
// Windows' code pages those that have none stand for control characters.
package charset
