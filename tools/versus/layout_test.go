// SPDX-License-Identifier: MIT

package main

import (
	"cmp"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/machine/nic"
	"github.com/zcbench/zcbench/machine/veth"
)

func TestParseLayouts(t *testing.T) {
	got, err := parseLayouts([]string{"together", "apart"})
	if err != nil || !slices.Equal(got, []Layout{Together, Apart}) {
		t.Errorf("got %v, %v", got, err)
	}
	for in, want := range map[string]string{"1cpu": "apart, together", "apart,apart": "twice", "": "is not a layout"} {
		if _, err := parseLayouts(strings.Split(in, ",")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want one with %q", in, err, want)
		}
	}
	if _, err := parseLayouts(nil); err == nil {
		t.Error("no layout is taken")
	}
}

// Each end's packets go to its own CPUs, and nowhere of their own accord.
func TestArrange(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("makes network namespaces: run as root")
	}
	for layout, want := range map[Layout][2]string{Apart: {"0", "0"}, Together: {"2", "1"}} {
		p, err := veth.New(veth.Options{MTU: 1500})
		if err != nil {
			t.Fatal(err)
		}
		if err := layout.arrange(p, []int{0}, []int{1}); err != nil {
			t.Fatal(err)
		}
		if got := [2]string{mask(t, p.SUT), mask(t, p.TG)}; got != want {
			t.Errorf("%s: RPS masks of receiver and sender are %v, want %v", layout, got, want)
		}
		p.Close()
	}
}

func mask(t *testing.T, e veth.End) (mask string) {
	t.Helper()
	err := e.Netns.Do(func() error {
		d, err := nic.Open(e.Dev)
		if err != nil {
			return err
		}
		defer d.Close()
		rps, err := d.Setting("rps 0")
		if err == nil {
			mask, err = rps.Get()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return cmp.Or(strings.TrimLeft(mask, "0,"), "0") // as many zeros before it as there may be CPUs
}
