package results

import (
	"bytes"
	"encoding/json"
)

// parser makes a record of a journal line.
type parser func([]byte) (Record, error)

func unmarshal(data []byte) (Record, error) {
	var r Record
	err := json.Unmarshal(data, &r)
	return r, err
}

// unmarshalFigures leaves out the hosts' metrics and series before the line is
// parsed: they are nine tenths of it, and walking over them is ten times as fast
// as parsing them. A run with probes keeps its metrics: there the probes' figures
// are.
func unmarshalFigures(data []byte) (Record, error) {
	r, err := unmarshal(withoutLists(data))
	if r.Cell.Probe != "" {
		r, err = unmarshal(data)
	} else {
		r.SUT.Metrics, r.TG.Metrics = nil, nil
	}
	r.SUT.Series, r.TG.Series = nil, nil
	return r, err
}

// withoutLists empties the lists "metrics" and "series" of the objects one level
// inside a JSON object. A text that is no JSON stays none: only what stands
// between the two brackets of such a list is not looked at.
func withoutLists(data []byte) []byte {
	out := make([]byte, 0, min(len(data), 8<<10))
	kept, depth := 0, 0 // data[:kept] is in out, or left out
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case '"':
			end := stringEnd(data, i)
			if end < 0 {
				return data
			}
			name := data[i+1 : end]
			i = end
			if depth != 2 || string(name) != "metrics" && string(name) != "series" || !bytes.HasPrefix(data[end+1:], []byte(":[")) {
				continue
			}
			from := end + 3 // behind the bracket
			to := listEnd(data, from)
			if to < 0 {
				return data
			}
			out = append(out, data[kept:from]...)
			kept, i = to, to
		}
	}
	return append(out, data[kept:]...)
}

// stringEnd is where the string that begins at data[i] has its closing quote.
func stringEnd(data []byte, i int) int {
	for i++; ; i++ {
		n := bytes.IndexByte(data[i:], '"')
		if n < 0 {
			return -1
		}
		i += n
		slashes := 0
		for data[i-1-slashes] == '\\' { // ends at the opening quote at the latest
			slashes++
		}
		if slashes%2 == 0 {
			return i
		}
	}
}

// listEnd is where the list whose first element is at data[i] has its bracket.
func listEnd(data []byte, i int) int {
	for depth := 1; i < len(data); i++ {
		switch data[i] {
		case '"':
			if i = stringEnd(data, i); i < 0 {
				return -1
			}
		case '[':
			depth++
		case ']':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}
