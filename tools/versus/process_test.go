// SPDX-License-Identifier: MIT

package main

import (
	"io"
	"strings"
	"testing"
)

// A tool that writes without end does not fill the memory.
func TestKept(t *testing.T) {
	var k kept
	text := strings.Repeat("x", maxOutput/2+1)
	for range 3 {
		if n, err := io.Copy(&k, strings.NewReader(text)); n != int64(len(text)) || err != nil {
			t.Fatalf("%d of %d bytes, %v", n, len(text), err)
		}
	}
	if got := len(k.Bytes()); got != maxOutput {
		t.Errorf("%d bytes kept, want %d", got, maxOutput)
	}
}
