package data

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
