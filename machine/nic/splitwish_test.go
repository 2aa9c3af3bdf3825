// SPDX-License-Identifier: MIT

package nic

import "testing"

func TestSplitNone(t *testing.T) {
	for model, want := range map[string]string{"bnxt_en": "tcp-data-split auto", "mlx5_core": "tcp-data-split off", "": "tcp-data-split off"} {
		got := splitNone(model)
		if got != want {
			t.Errorf("%s: %s, want %s", model, got, want)
		}
		if err := CheckSetting("header-split", got); err != nil {
			t.Error(err)
		}
	}
}
