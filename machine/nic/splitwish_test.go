// SPDX-License-Identifier: MIT

package nic

import (
	"errors"
	"testing"

	"github.com/zcbench/zcbench/machine/driver"
	"golang.org/x/sys/unix"
)

// Loopback splits no headers: to split none is granted already, to split all is refused.
func TestSplitSettingOfLoopback(t *testing.T) {
	d, err := Open("lo")
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if got, err := d.SplitSetting(false); err != nil || got != "" {
		t.Errorf("off is %q, %v", got, err)
	}
	if got, err := d.SplitSetting(true); !errors.Is(err, unix.EOPNOTSUPP) {
		t.Errorf("on is %q, %v", got, err)
	}
}

func TestSplitNone(t *testing.T) {
	for model, want := range map[string]string{"bnxt_en": "tcp-data-split auto", "mlx5_core": "tcp-data-split off",
		"": "tcp-data-split off"} {
		got := splitNone(driver.Of(model))
		if got != want {
			t.Errorf("%s: %s, want %s", model, got, want)
		}
		if err := CheckSetting("header-split", got); err != nil {
			t.Error(err)
		}
	}
}

// Only where a driver splits when nobody asks does reading on tell that it is on.
func TestSplitTells(t *testing.T) {
	for model, want := range map[string]bool{"idpf": true, "fbnic": true, "bnxt_en": false, "gve": false,
		"nobody knows": false, "": false} {
		if splitTells(driver.Of(model), SplitOn) != want || !splitTells(driver.Of(model), SplitOff) ||
			splitTells(driver.Of(model), SplitUnknown) {
			t.Error(model)
		}
	}
}
