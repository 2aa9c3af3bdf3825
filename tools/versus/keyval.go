// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// keyvals are the lines "key=value" that neper and netperf write; of lines with one key, the
// last. Other lines are passed over.
type keyvals map[string]string

func parseKeyvals(text []byte) keyvals {
	kv := keyvals{}
	for line := range strings.Lines(string(text)) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
			kv[key] = value
		}
	}
	return kv
}

// positive parses a figure above 0, and below what any machine will say in this century.
func (kv keyvals) positive(key string) (float64, error) {
	text, ok := kv[key]
	if !ok {
		return 0, fmt.Errorf("it has no %s", key)
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(v) || v <= 0 || v > 1e18 {
		return 0, fmt.Errorf("%s is %q: want a figure above 0", key, text)
	}
	return v, nil
}
