package data

import "math/bits"

// random is the generator "wyrand" of Wang Yi. It replaces math/rand, since rows must not depend on the Go release.
type random struct{ state uint64 }

func (r *random) next() uint64 {
	r.state += 0xa0761d6478bd642f
	hi, lo := bits.Mul64(r.state, r.state^0xe7037ed1a0b428db)
	return hi ^ lo
}

// below returns a number in 0..n-1.
func (r *random) below(n int) int {
	hi, _ := bits.Mul64(r.next(), uint64(n))
	return int(hi)
}

// chance returns true in the given share of cases.
func (r *random) chance(share float64) bool {
	return share > 0 && float64(r.next()>>11)/(1<<53) < share
}

const (
	digits   = "0123456789"
	hexUpper = "0123456789ABCDEF"
	alphanum = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
)

func (r *random) text(dst []byte, set string, n int) []byte {
	for range n {
		dst = append(dst, set[r.below(len(set))])
	}
	return dst
}

// hex appends n upper-case hexadecimal digits.
func (r *random) hex(dst []byte, n int) []byte {
	for n > 0 {
		v := r.next()
		for i := 0; i < 16 && n > 0; i, n = i+1, n-1 {
			dst = append(dst, hexUpper[v&15])
			v >>= 4
		}
	}
	return dst
}

func pair(dst []byte, n int) []byte { return append(dst, digits[n/10%10], digits[n%10]) }

// date appends a time of the years 2014 to 2017, with seconds.
func (r *random) date(dst []byte) []byte {
	dst = pair(append(dst, "20"...), 14+r.below(4))
	dst = pair(append(dst, '-'), 1+r.below(12))
	dst = pair(append(dst, '-'), 1+r.below(28))
	dst = pair(append(dst, ' '), r.below(24))
	dst = pair(append(dst, ':'), r.below(60))
	return pair(append(dst, ':'), r.below(60))
}

// sentences are the contents of free-text columns: Chinese mostly, some with commas, comparisons and quotes.
var sentences = []string{
	"本人来电确认信息属实", "单位座机多次无人应答", "命中内部灰名单", "流水不足以覆盖月供", "六个月内申请机构数偏多", "建议通过",
	"影像件模糊，请重新上传", "第二联系人号码为空号", "age >= 60", "debt_ratio > 0.7, see note", "实名信息一致", "居住地址与户籍不符",
	"overdue_90d = 0", "终审已复核", "评分低于准入线，拒绝", "补充近三个月工资流水", "转人工反欺诈核查", "征信报告近期查询频繁", "N/A",
	"auto pass",
}

// glue are the separators of sentences: a plain space, and characters that exercise each form's parser.
var glue = []string{"；", " ", "\n", ", ", `"`}

// prose appends 0 to most sentences.
func (r *random) prose(dst []byte, most int) []byte {
	for i := range r.below(most + 1) {
		if i > 0 {
			dst = append(dst, glue[r.below(len(glue))]...)
		}
		dst = append(dst, sentences[r.below(len(sentences))]...)
	}
	return dst
}
