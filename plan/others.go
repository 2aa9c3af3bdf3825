// SPDX-License-Identifier: MIT

package plan

import "strings"

// OthersByEnd lists the settings in the cell's Set, and splits those of both ends into one for
// each.
func (c *Cell) OthersByEnd() (out []Other) {
	for _, x := range c.Others() {
		if x.End != "" {
			out = append(out, x)
			continue
		}
		for _, end := range []string{"sut", "tg"} {
			out = append(out, Other{end, x.Name, x.Value})
		}
	}
	return out
}

// JoinOthers formats such settings as a Set: one that both ends have, in adjacent entries, appears
// once.
func JoinOthers(all []Other) string {
	var words []string
	for i := 0; i < len(all); i++ {
		x := all[i]
		if i+1 < len(all) && x.End == "sut" && all[i+1] == (Other{"tg", x.Name, x.Value}) {
			words = append(words, x.Name+"="+x.Value)
			i++
			continue
		}
		end := x.End
		if end != "" {
			end += ":"
		}
		words = append(words, end+x.Name+"="+x.Value)
	}
	return strings.Join(words, ";")
}
