// SPDX-License-Identifier: MIT

package counter

import (
	"os"
	"path/filepath"
	"testing"
)

func TestReadHeat(t *testing.T) {
	sys := t.TempDir()
	put := func(path, text string) {
		path = filepath.Join(sys, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	fs, err := NewFS(t.TempDir(), sys)
	if err != nil {
		t.Fatal(err)
	}
	if h := readHeat(fs, nil); h.MHz != nil || h.TempC != nil {
		t.Errorf("of nothing: %+v", h)
	}
	put("devices/system/cpu/online", "0-2\n")
	put("devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "3000000\n")
	put("devices/system/cpu/cpu1/cpufreq/scaling_cur_freq", "2000000\n")
	put("class/hwmon/hwmon0/name", "nvme\n")
	put("class/hwmon/hwmon0/temp1_input", "90000\n")
	put("class/hwmon/hwmon1/name", "coretemp\n")
	put("class/hwmon/hwmon1/temp1_input", "51500\n")
	put("class/hwmon/hwmon2/name", "coretemp\n")
	put("class/hwmon/hwmon2/temp1_input", "55000\n")
	if h := readHeat(fs, nil); *h.MHz != 2500 || *h.TempC != 55 {
		t.Errorf("%v MHz, %v C", *h.MHz, *h.TempC)
	}
	// Of a Threadripper 1950X, Tctl is 27 K above Tdie. Later ones have Tctl, and dies beside it.
	put("class/hwmon/hwmon2/name", "k10temp\n")
	put("class/hwmon/hwmon2/temp1_input", "88000\n")
	put("class/hwmon/hwmon2/temp2_input", "61000\n")
	put("class/hwmon/hwmon2/temp2_label", "Tdie\n")
	if h := readHeat(fs, nil); *h.TempC != 61 {
		t.Errorf("%v C of the die, want 61", *h.TempC)
	}
	put("class/hwmon/hwmon2/temp2_label", "Tccd1\n")
	if h := readHeat(fs, nil); *h.TempC != 88 {
		t.Errorf("%v C, want 88", *h.TempC)
	}
	if h := readHeat(fs, []int{1}); *h.MHz != 2000 {
		t.Errorf("%v MHz", *h.MHz)
	}
}
