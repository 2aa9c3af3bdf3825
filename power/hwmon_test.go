// SPDX-License-Identifier: MIT

package power

import (
	"strings"
	"testing"
)

func readHwmon(t *testing.T, spec string) (Source, []int64, error) {
	t.Helper()
	src, err := open(t, spec)
	if err != nil {
		return nil, nil, err
	}
	v := make([]int64, len(src.Info().Channels))
	return src, v, src.Read(t.Context(), v)
}

func TestHwmon(t *testing.T) {
	root := t.TempDir()
	write(t, root+"/hwmon0/name", "power_meter\n")
	write(t, root+"/hwmon0/power1_average", "143500000\n")
	write(t, root+"/hwmon0/power1_average_interval", "1000\n")
	write(t, root+"/hwmon1/name", "ina238\n")
	write(t, root+"/hwmon1/power1_input", "2500000\n")
	write(t, root+"/hwmon1/power1_label", "NIC 12V\n")
	write(t, root+"/hwmon2/name", "nvme\n")
	write(t, root+"/hwmon2/temp1_input", "40000\n")
	read := func(spec string) (Source, []int64, error) { return readHwmon(t, spec+"root="+root) }
	src, v, err := read("hwmon?")
	if err != nil || v[0] != 143500000 || v[1] != 2500000 || src.Info().Scope != scopeBoard ||
		src.Info().Channels[0].Part || !src.Info().Channels[1].Part {
		t.Errorf("%v %v %+v", err, v, src.Info())
	}
	src, v, err = read("hwmon=ina238?")
	if err != nil || len(v) != 1 || v[0] != 2500000 || src.Info().Channels[0].Name != "ina238_nic_12v" ||
		src.Info().Channels[0].Part {
		t.Errorf("%v %v", err, v)
	}
	if _, _, err = read("hwmon=nvme?"); err == nil || fixOf(err) == "" {
		t.Errorf("a device without a power sensor: %v", err)
	}
	if _, _, err = read("hwmon?label=nothing&"); err == nil || !strings.Contains(err.Error(), "power1, nic_12v") {
		t.Errorf("no such label: %v", err)
	}
	write(t, root+"/hwmon0/power1_average", "-5\n")
	if _, _, err = read("hwmon?"); err == nil {
		t.Error("a negative reading was taken")
	}
}

// summed are the channels that make a source's figure.
func summed(src Source) string {
	var out []string
	for _, c := range src.Info().Channels {
		if !c.Part {
			out = append(out, c.Name)
		}
	}
	return strings.Join(out, " ")
}

// A label means the sensor that has it, and no other. Nothing is added that was not named.
func TestHwmonLabels(t *testing.T) {
	root := t.TempDir()
	for _, s := range []struct{ dir, name, label, uw string }{
		{"hwmon2", "dps650ab", "pin", "210000000"},
		{"hwmon3", "dps650ab", "pin", "190000000"},
		{"hwmon4", "ina238", "12V", "30000000"},
		{"hwmon5", "ina238", "NIC 12V", "20000000"},
		{"hwmon6", "power_meter", "", "400000000"},
		{"hwmon7", "ina260", "", "5000000"},
	} {
		write(t, root+"/"+s.dir+"/name", s.name+"\n")
		write(t, root+"/"+s.dir+"/power1_input", s.uw+"\n")
		if s.label != "" {
			write(t, root+"/"+s.dir+"/power1_label", s.label+"\n")
		}
	}
	// Two sensors of one device, of one label.
	write(t, root+"/hwmon3/power2_input", "1000000\n")
	write(t, root+"/hwmon3/power2_label", "pin\n")
	for spec, want := range map[string]string{
		"hwmon?sensor=hwmon2/power1;hwmon3/power1":     "dps650ab_pin dps650ab_pin_hwmon3",
		"hwmon?sensor=hwmon3/power2":                   "dps650ab_pin_hwmon3_power2",
		"hwmon?label=12V":                              "ina238_12v",
		"hwmon?label=NIC 12V":                          "ina238_nic_12v",
		"hwmon?label=nic_12v":                          "ina238_nic_12v",
		"hwmon=ina260?label=power1":                    "ina260_power1",
		"hwmon?uncertainty=1%":                         "power_meter_power1",
		"hwmon=power_meter?uncertainty=1%":             "power_meter_power1",
		"hwmon=power_meter?label=power1":               "power_meter_power1",
		"hwmon=dps650ab?sensor=hwmon2/power1&name=psu": "dps650ab_pin",
	} {
		src, _, err := readHwmon(t, spec+"&root="+root)
		if err != nil {
			t.Errorf("%s: %v", spec, err)
			continue
		}
		if got := summed(src); got != want {
			t.Errorf("%s sums %q, want %q", spec, got, want)
		}
		if d := src.Info().Device; !strings.HasPrefix(d, strings.ReplaceAll(want, " ", " + ")) {
			t.Errorf("%s: its device is %q, which does not say what is summed", spec, d)
		}
	}
	if _, _, err := readHwmon(t, "hwmon?label=2V&root="+root); err == nil {
		t.Error("the end of a label was taken for it")
	}
	for _, spec := range []string{"hwmon?label=pin", "hwmon=dps650ab?uncertainty=1%", "hwmon?label=power1"} {
		_, _, err := readHwmon(t, spec+"&root="+root)
		if err == nil || !strings.Contains(err.Error(), "nothing says") || !strings.Contains(fixOf(err), "sensor=") {
			t.Errorf("%s: %v, fix %q", spec, err, fixOf(err))
		}
	}
	if _, _, err := readHwmon(t, "hwmon?sensor=hwmon6/power1;hwmon7/power1&root="+root); err == nil ||
		!strings.Contains(err.Error(), "in it") {
		t.Errorf("the machine and a part of it: %v", err)
	}
	for spec, say := range map[string]string{"hwmon?sensor=hwmon2/power1;hwmon2/power1": "twice",
		"hwmon?sensor=hwmon2/power9": "there are hwmon2/power1 (dps650ab, label \"pin\": 210 W)"} {
		if _, _, err := readHwmon(t, spec+"&root="+root); err == nil || !strings.Contains(err.Error(), say) {
			t.Errorf("%s: %v, want %q", spec, err, say)
		}
	}
}

// A sensor that fails has no value; the figure is gone only if it is one of the
// sum.
func TestHwmonOneFails(t *testing.T) {
	root := t.TempDir()
	write(t, root+"/hwmon0/name", "ina238\n")
	write(t, root+"/hwmon0/power1_input", "2500000\n")
	write(t, root+"/hwmon1/name", "power_meter\n")
	write(t, root+"/hwmon1/power1_average", "143500000\n")
	src, v, err := readHwmon(t, "hwmon?root="+root)
	if err != nil || v[0] != 2500000 || v[1] != 143500000 {
		t.Fatalf("%v %v", v, err)
	}
	write(t, root+"/hwmon0/power1_input", "")
	if err := src.Read(t.Context(), v); err != nil || v[0] != none || v[1] != 143500000 {
		t.Errorf("a part fails: %v, %v", v, err)
	}
	write(t, root+"/hwmon1/power1_average", "x\n")
	if err := src.Read(t.Context(), v); err == nil || !strings.Contains(err.Error(), "ina238_power1") ||
		!strings.Contains(err.Error(), "power_meter_power1") {
		t.Errorf("all fail: %v", err)
	}
	write(t, root+"/hwmon0/power1_input", "2500000\n")
	if err := src.Read(t.Context(), v); err == nil || strings.Contains(err.Error(), "ina238") || v[0] != 2500000 {
		t.Errorf("the meter fails: %v, %v", v, err)
	}
}
