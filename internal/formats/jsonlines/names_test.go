package jsonlines

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// listed returns members as one text.
func listed(members []Member) string {
	var parts []string
	for _, m := range members {
		parts = append(parts, m.Path+":"+m.Kind.String())
	}
	return strings.Join(parts, " ")
}

func TestNames(t *testing.T) {
	for line, want := range map[string]string{
		`{}`: ``,
		` { "b" : 1 , "a":"x", "c":null,"d":true,"e":false }`:       `b:number a:string c:null d:bool e:bool`,
		`{"o":{"x":1,"p":{"y":"\n"}},"l":[{"z":1}],"e":{ },"n":-1}`: `o.x:number o.p.y:string l:array e:object n:number`,
		`{"a.b":1,"a":{"b":2},"x\\y":3,"":4,"s":{"":{"":5}}}`:       `a\.b:number a.b:number x\\y:number :number s..:number`,
		`{"\u540d":1}`: `名:number`,
		strings.Repeat(`{"a":`, 17) + "1" + strings.Repeat("}", 17): strings.Repeat("a.", 15) + "a:object",
		`{"` + strings.Repeat("n", 1025) + `":{"b":1},"c":{"b":1}}`: strings.Repeat("n", 1025) + `:object c.b:number`,
	} {
		members, err := Names([]byte(line))
		if err != nil || listed(members) != want {
			t.Errorf("%s: %s %v, want %s", line, listed(members), err, want)
		}
	}
	for line, want := range map[string]string{
		`[`: ErrWholeFile.Error(), `{"a":1`: faultEnd.String(), `{"o":{"a":1,"\u0061":2}}`: faultTwice.String(), `{"a":1,"a":2}`: faultTwice.String(), "": faultBlank.String(),
	} {
		members, err := Names([]byte(line))
		var e *Error
		if !errors.As(err, &e) || e.Reason != want || members != nil {
			t.Errorf("%s: %v %v", line, members, err)
		}
	}
	var b strings.Builder
	for i := range maxNames + 1 {
		fmt.Fprintf(&b, `,"%d":1`, i)
	}
	if _, err := Names([]byte("{" + b.String()[1:] + "}")); err == nil || errors.As(err, new(*Error)) {
		t.Error(err)
	}
}

// TestNamesOfWriters checks the schema of a nested line of Spark.
func TestNamesOfWriters(t *testing.T) {
	members, err := Names(readLines(t, "spark-nested.jsonl")[0])
	const want = "id:number check_id:string name:string nested.a:number nested.tags:array m.CK00001:number amount:number n:number d:string ts:string flag:bool remark:string extra:string"
	if err != nil || listed(members) != want {
		t.Errorf("%s %v", listed(members), err)
	}
}
