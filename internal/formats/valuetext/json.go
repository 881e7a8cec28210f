package valuetext

// AppendJSON writes a JSON string. Bytes that are not UTF-8 are copied unchanged.
func AppendJSON[S string | []byte](dst []byte, s S) []byte {
	return append(AppendWithin(append(dst, '"'), s), '"')
}

// AppendWithin writes a part of a JSON string, without its quotes.
func AppendWithin[S string | []byte](dst []byte, s S) []byte {
	const digits = "0123456789abcdef"
	from := 0
	for i := range len(s) {
		b := s[i]
		if b >= ' ' && b != '"' && b != '\\' {
			continue
		}
		dst = append(dst, s[from:i]...)
		from = i + 1
		switch b {
		case '"', '\\':
			dst = append(dst, '\\', b)
		case '\b':
			dst = append(dst, `\b`...)
		case '\f':
			dst = append(dst, `\f`...)
		case '\n':
			dst = append(dst, `\n`...)
		case '\r':
			dst = append(dst, `\r`...)
		case '\t':
			dst = append(dst, `\t`...)
		default:
			dst = append(dst, '\\', 'u', '0', '0', digits[b>>4], digits[b&0xf])
		}
	}
	return append(dst, s[from:]...)
}
