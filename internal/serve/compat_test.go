package serve

import (
	"strings"
	"testing"
)

const opinionJob = "table: opinion\nkey: salt(buss_no, business_type) + md5hex(buss_no, business_type) + id\nquery: [buss_no, business_type]\ncolumns: [id, buss_no, business_type, opinion]\n"

// TestCompat compares the responses with those of the service that this one replaces.
func TestCompat(t *testing.T) {
	s := open(t, Options{Compat: true, Limits: Limits{Rows: 3}}, map[string]string{"check": checkJob, "opinion": opinionJob})
	key := "salt(buss_no, business_type) + md5hex(buss_no, business_type) + id"
	s.fake.put(t, checkKey, 10, "id", "1", "check_id", "A208848994", "text", "法院核查", "unknown", "x")
	s.fake.put(t, checkKey, 10, "id", "2", "check_id", "A208848994")
	s.fake.put(t, key, 10, "id", "1", "buss_no", "AB", "business_type", "C", "opinion", "a \"b\"")
	s.fake.put(t, key, 10, "id", "2", "buss_no", "A", "business_type", "BC", "opinion", "\xff")
	for i := range 4 {
		s.fake.put(t, checkKey, 10, "id", string(rune('a'+i)), "check_id", "many")
	}
	done := func(data string) string {
		return `{"rtn_sts":"S","rtn_code":"0","rtn_msg":"交易成功","sys_code":"475","data":[` + data + `]}`
	}
	const failed = `{"rtn_sts":"E","rtn_code":"-1","rtn_msg":"系统查询异常","sys_code":"475","data":null}`
	for path, want := range map[string]string{
		"check?check_id=A208848994&req_comm.tx_user=u&req_comm.sys_code=": done(`{"id":"1","check_id":"A208848994","text":"法院核查"},{"id":"2","check_id":"A208848994","text":null}`),
		"check?check_id=none":                done(""),
		"check?check_id=":                    done(""),
		"check":                              failed,
		"check?check_id=many":                failed,
		"opinion?buss_no=AB&business_type=C": done(`{"id":"1","buss_no":"AB","business_type":"C","opinion":"a \"b\""}`),
		"opinion?buss_no=A&business_type=BC": done(`{"id":"2","buss_no":"A","business_type":"BC","opinion":"` + "\ufffd" + `"}`),
		"opinion":                            done(""),
		"opinion?buss_no=AB":                 done(""),
	} {
		r := s.get("/hbaseweb/get/" + path)
		if r.status != 200 || r.body != want || r.header.Get("Content-Type") != "application/json;charset=UTF-8" {
			t.Errorf("%s: %d %s\nwant %s", path, r.status, r.body, want)
		}
	}
	if r := s.get("/testweb/list"); r.body != "check\nopinion\n" || !strings.HasPrefix(r.header.Get("Content-Type"), "text/plain") {
		t.Errorf("tables: %q", r.body)
	}
	if r := s.get("/swagger-ui.html"); r.status != 302 {
		t.Errorf("%d", r.status)
	}
}
