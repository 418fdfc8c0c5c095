package plainjson

import (
	"encoding/json"
	"reflect"
	"testing"
)

type value struct {
	Text  string         `json:"text"`
	Texts []string       `json:"texts"`
	Yes   bool           `json:"yes"`
	N     int64          `json:"n"`
	U     uint64         `json:"u"`
	Map   map[string]int `json:"map"`
}

func (v *value) read(c *Cursor) {
	c.Object(func(key []byte) {
		switch string(key) {
		case "text":
			v.Text = c.Text()
		case "texts":
			v.Texts = c.Texts()
		case "yes":
			v.Yes = c.Bool()
		case "n":
			v.N = c.Int64()
		case "u":
			v.U = c.Natural()
		case "map":
			if v.Map == nil {
				v.Map = map[string]int{}
			}
			c.Object(func(key []byte) { v.Map[string(key)] = c.Int() })
		default:
			c.Fail()
		}
	})
}

// Read accepts what encoding/json accepts, whether or not the text is kept.
func TestReadsAsEncodingJSON(t *testing.T) {
	for text, whole := range map[string]bool{
		`{"text":"a b","texts":["","x\ny","é"],"yes":true,"n":-9223372036854775807,"u":9999999999999999999,"map":{"k":-7}}`: true,
		`{"yes":false,"text":"\u00e9\"","texts":["a","b","c"]}`:                                                             true,
		`{"text":"twice","text":"","texts":["a"],"texts":["b"],"n":0}`:                                                      true,
		`{}`: false, `{"texts":[]}`: false, `{"n":01}`: false, `{"n":1.5}`: false, `{"n":9223372036854775808}`: false,
		`{"yes":tru}`: false, `{"yes":truefalse}`: false, `{"text":null}`: false, `{"other":1}`: false, ` {"n":1}`: false,
		`{"n":1}x`: false, `{"text":"a}`: false, `{"text":"\q"}`: false, `{"n":1`: false, `{"n":1,}`: false, `{"texts":["a",]}`: false,
	} {
		for name, read := range map[string]func([]byte, func(*Cursor)) bool{"Read": Read, "ReadKept": ReadKept} {
			b := []byte(text)
			var got, want value
			ok := read(b, got.read)
			clear(b) // what was read does not rest on it
			if ok != whole {
				t.Errorf("%s(%s) is %v", name, text, ok)
			}
			if !ok {
				continue
			}
			if err := json.Unmarshal([]byte(text), &want); err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%s(%s) is %+v, want %+v, %v", name, text, got, want, err)
			}
		}
	}
}
