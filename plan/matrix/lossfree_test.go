// SPDX-License-Identifier: MIT

package matrix

import (
	"strings"
	"testing"
)

const lossFreeHead = "name: x\nfactors:\n  rx: [udp]\n  tx: [udp]\n  message: [64]\n"

// A file says how a rate without loss is looked for, and the hash of the plan depends on it.
func TestLossFree(t *testing.T) {
	def, err := Parse("f", []byte(lossFreeHead+"  pace: [none, loss-free]\n"))
	if err != nil || def.Search() != DefaultLossFree() || len(def.Cells) != 2 || !def.Cells[1].LossFree ||
		def.Cells[1].ID != "udp/udp pace=loss-free" {
		t.Fatalf("%+v, %v", def, err)
	}
	s, err := Parse("f", []byte(lossFreeHead+
		"pace: loss-free\nloss_free: {limit: 0.1%, resolution: 5%, confirm: 3, trials: 40}\n"))
	if want := (LossFree{.001, .05, 3, 40}); err != nil || s.Search() != want || len(s.Cells) != 1 ||
		!s.Cells[0].LossFree {
		t.Fatalf("%+v, %v", s, err)
	}
	more, err := Parse("f", []byte(lossFreeHead+
		"pace: loss-free\nloss_free: {limit: 0.1%, resolution: 5%, confirm: 4, trials: 40}\n"))
	if err != nil || more.Hash() == s.Hash() {
		t.Errorf("another search has the same hash (%v)", err)
	}
	if n := s.Search().Usual(); n != 3+5+3 {
		t.Errorf("usually %d trials", n)
	}
	if n := (LossFree{0, .5, 10, 11}).Usual(); n != 11 {
		t.Errorf("usually %d trials of 11", n)
	}
}

// What cannot be is told with its place.
func TestLossFreeRefused(t *testing.T) {
	for text, want := range map[string]string{
		lossFreeHead + "loss_free: {}":                                                         "f:6:12: loss_free: no cell has pace loss-free",
		lossFreeHead + "pace: loss-free\nloss_free: {limit: 100%}":                             "f:7:12: loss_free: limit 1",
		lossFreeHead + "pace: loss-free\nloss_free: {limit: 2}":                                "f:7:20: 2 is more than 100 %",
		lossFreeHead + "pace: loss-free\nloss_free: {resolution: 0}":                           "f:7:12: loss_free: resolution 0",
		lossFreeHead + "pace: loss-free\nloss_free: {confirm: 0}":                              "f:7:22: 0 is outside",
		lossFreeHead + "pace: loss-free\nloss_free: {confirm: 5, trials: 4}":                   "f:7:12: loss_free: trials 4: fewer than confirm, 5",
		lossFreeHead + "pace: loss-free\nloss_free: {loss: 1%}":                                "unknown key",
		lossFreeHead + "pace: loss-free\nrepetitions: 1000\nloss_free: {trials: 2000}":         "2000 trials each",
		lossFreeHead + "  pace: [lossless]":                                                    "f:6:10: pace: ",
		"name: x\nfactors:\n  rx: [tcp]\n  tx: [tcp]\n  pace: [none, loss-free]\n":             "f:5:3: pace loss-free: rx tcp carries a stream",
		"name: x\nfactors:\n  rx: [tcp, udp]\n  tx: [tcp, udp]\n  pace: [loss-free]\n":         "f:5:3: pace loss-free: rx tcp carries a stream",
		"name: x\nfactors:\n  rx: [udp]\n  tx: [udp, udp-rr]\n  pace: [loss-free]\nrcvbuf: 4M": "",
	} {
		_, err := Parse("f", []byte(text))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q:\n%v\nwant %s", text, err, want)
		}
	}
}
