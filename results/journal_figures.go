package results

import "encoding/json"

// parser makes a record of a journal line.
type parser func([]byte) (Record, error)

func unmarshal(data []byte) (Record, error) {
	var r Record
	err := json.Unmarshal(data, &r)
	return r, err
}

// figures is a Record whose hosts leave out what is long: an outer field takes
// the place of an embedded one of the same name.
type figures struct {
	Record
	SUT figuresHost `json:"sut"`
	TG  figuresHost `json:"tg"`
}

type figuresHost struct {
	Host
	Metrics skipped `json:"metrics"`
	Series  skipped `json:"series"`
}

type skipped struct{}

func (skipped) UnmarshalJSON([]byte) error { return nil }

func unmarshalFigures(data []byte) (Record, error) {
	var f figures
	err := json.Unmarshal(data, &f)
	f.Record.SUT, f.Record.TG = f.SUT.Host, f.TG.Host
	return f.Record, err
}
