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
	if h := readHeat(fs, nil); len(h.MHz) > 0 || h.TempC != nil {
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
	if h := readHeat(fs, nil); h.MHz[0] != 3000 || h.MHz[1] != 2000 || len(h.MHz) != 2 || *h.TempC != 55 {
		t.Errorf("%v MHz, %v C", h.MHz, *h.TempC)
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
	if h := readHeat(fs, []int{1}); len(h.MHz) != 1 || h.MHz[1] != 2000 {
		t.Errorf("%v MHz", h.MHz)
	}
}

// The frequency is that of CPUs that worked: one busy CPU among idle ones has its own, and where
// none was busy, or one that was does not tell, there is none.
func TestBusyMHz(t *testing.T) {
	at := map[int]float64{0: 1200, 1: 800, 2: 3000, 3: 2000}
	for _, x := range []struct {
		busy []float64
		want float64 // 0: not known
	}{{[]float64{.02, .1, .9, .3}, 3000}, {[]float64{.01, 0, .9, 1}, 2500}, {[]float64{.02, .1, .2, .3}, 0},
		{[]float64{0, 0, 1, 0, 1}, 0}} {
		c := Change{heat: heat{MHz: at}}
		for cpu, b := range x.busy {
			c.CPU.PerCPU = append(c.CPU.PerCPU, OneCPUUsage{CPU: cpu, CPUFigures: CPUFigures{BusyCores: &b}})
		}
		got := c.Figures().CPUMHz
		if (got == nil) != (x.want == 0) || got != nil && *got != x.want {
			t.Errorf("%v: %v", x.busy, got)
		}
	}
}
