// SPDX-License-Identifier: MIT

package power

import (
	"os"
	"strings"
	"testing"
)

// GPUs of one board are not added, because each may show the board.
func TestGPUsOfOneBoard(t *testing.T) {
	helper := t.TempDir() + "/zcnvml"
	script := "#!/bin/sh\n[ \"$1\" = --list ] && printf 'A\\nK80\\tboard 0x100\\nK80\\tboard 0x100\\n' && " +
		"exit\nwhile echo 60000 140000 150000; do sleep 0.05; done\n"
	if err := os.WriteFile(helper, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	spec := "nvml?helper=" + helper
	if _, err := open(t, spec); err == nil || !strings.Contains(err.Error(), "GPUs 1, 2 are on one board") ||
		!strings.Contains(fixOf(err), "nvml?gpu=1;2") {
		t.Errorf("%v, fix %q", err, fixOf(err))
	}
	for option, want := range map[string]string{"&gpu=0": "gpu0", "&gpu=1;2": "gpu1 gpu2", "&gpu=2;0": "gpu0 gpu2"} {
		if src, err := open(t, spec+option); err != nil || summed(src) != want {
			t.Errorf("%s: %v", option, err)
		}
	}
	for option, say := range map[string]string{"&gpu=3": "there are 3, from 0"} {
		if _, err := open(t, spec+option); err == nil || !strings.Contains(err.Error(), say) {
			t.Errorf("%s: %v", option, err)
		}
	}
	for _, bad := range []string{"nvml?gpu=", "nvml?gpu=x", "nvml?gpu=1;1", "nvml?gpu=-1"} {
		if _, err := ParseSpec(bad); err == nil {
			t.Errorf("%s was taken", bad)
		}
	}
	channels := []channel{{}, {Part: true}}
	v := []int64{none, none}
	for line, say := range map[string]string{"0 60000": "gpu0: it reads 0 W", "- 60000": "no reading", "60000 -": "",
		"60000 0": ""} {
		if err := parseMilliwatts(line, v, channels); say == "" && err != nil || say != "" &&
			(err == nil || !strings.Contains(err.Error(), say)) {
			t.Errorf("%q: %v", line, err)
		}
	}
}

// A GPU's reading says which GPU it is, also where there is only one.
func TestGPUPlaces(t *testing.T) {
	for list, want := range map[string][]string{"A\tpci 0000:41:00.0": {"0000:41:00.0"}, "A": {""},
		"A\tpci 0000:41:00.0\tboard 0x1|B\tpci 0000:42:00.0|C": {"0000:41:00.0", "0000:42:00.0", ""}} {
		channels, no, err := gpuChannels(Spec{Name: "nvml"}, strings.Split(list, "|"))
		if err != nil || no != nil || len(channels) != len(want) {
			t.Fatalf("%q: %v, %v, %v", list, channels, no, err)
		}
		for i, c := range channels {
			if c.Place != want[i] {
				t.Errorf("%q: gpu%d is at %q", list, i, c.Place)
			}
		}
	}
	_, no, _ := gpuChannels(Spec{Name: "nvml"}, []string{"K\tpci 0000:41:00.0\tboard 0x1",
		"K\tpci 0000:42:00.0\tboard 0x1"})
	if no == nil {
		t.Error("GPUs of one board are added")
	}
	s := sample{V: []int64{65e6}}
	tr := Trace{Interval: 1e8, Info: info{Name: "nvml", Scope: scopeGPU, Channels: []channel{{Name: "gpu0", Kind: power,
		Place: "0000:41:00.0"}}}}
	for at := range 20 {
		s.AtNs = int64(at) * 1e8
		tr.Samples = append(tr.Samples, s)
	}
	f := Measure(tr, Times{Load: Window{FromNs: 0, ToNs: 19e8}})
	for _, m := range f.Metrics {
		if m.Name == "power_nvml_gpu0_w" && m.Value == 65 && m.Source == "nvml 0000:41:00.0" {
			return
		}
	}
	t.Errorf("%+v", f.Metrics)
}
