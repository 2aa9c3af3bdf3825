// SPDX-License-Identifier: MIT

package fleet

import (
	"strings"
	"sync"

	"github.com/zcbench/zcbench/machine/survey"
)

// maxKnown is how much of different facts is kept, in bytes, over all folders: of the same kind of
// host they are nearly all the same.
const maxKnown = 128 << 20

// known are the names and values of facts, each text once. The hosts of a fleet have thousands of
// facts, and hardly differ in them.
type known struct {
	mu      sync.Mutex
	numbers map[string]uint32
	texts   []string
	bytes   int
	full    bool // some were left out
}

type factValue struct{ name, value uint32 }

// take keeps the facts of a host: what records say, and a snapshot; nil: there is none.
func (k *known) take(values map[string][]string, s *survey.Snapshot) []factValue {
	k.mu.Lock()
	defer k.mu.Unlock()
	var out []factValue
	add := func(name, value string) {
		n, ok := k.number(name)
		v, ok2 := k.number(value)
		if ok && ok2 {
			out = append(out, factValue{n, v})
		}
	}
	for name, v := range values {
		add(name, strings.Join(v, " / "))
	}
	if s == nil {
		return out
	}
	for _, x := range s.Facts {
		if area := x.Area(); area != "boot" && area != "busy" && !said[x.Name] {
			add(x.Name, x.Value)
		}
	}
	return out
}

func (k *known) number(text string) (uint32, bool) {
	n, ok := k.numbers[text]
	if ok {
		return n, true
	}
	if k.bytes += len(text) + 64; k.bytes > maxKnown {
		k.full = true
		return 0, false
	}
	if k.numbers == nil {
		k.numbers = map[string]uint32{}
	}
	n = uint32(len(k.texts))
	text = strings.Clone(text)
	k.texts = append(k.texts, text)
	k.numbers[text] = n
	return n, true
}
