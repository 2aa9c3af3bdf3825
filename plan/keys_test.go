// SPDX-License-Identifier: MIT

package plan

import "testing"

// What is remembered is the key, also when a cell changes, or when there are more than are
// remembered.
func TestKeys(t *testing.T) {
	var k Keys
	yes, no := true, false
	c := Cell{ID: "a", RX: "tcp", TX: "tcp", GRO: &yes}
	for range 2 {
		if got := k.Of(&c); got != c.Key() {
			t.Errorf("%q, want %q", got, c.Key())
		}
		c.GRO, c.ID = &no, "b"
	}
	other := c
	other.GRO = new(bool)
	if k.Of(&other) != k.Of(&c) {
		t.Error("equal cells have two keys")
	}
	for i := range mostKeys + 10 {
		c.MTU = 1000 + i
		if k.Of(&c) != c.Key() {
			t.Fatal(c.MTU)
		}
	}
	if n := len(k.known); n > mostKeys {
		t.Errorf("%d keys are remembered", n)
	}
}
