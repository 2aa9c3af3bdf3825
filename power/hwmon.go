// SPDX-License-Identifier: MIT

package power

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

var hwmonKind = sourceKind{inBand: true, summary: "board sensors (hwmon powerN_average, powerN_input)", example: "hwmon=power_meter",
	reaches: opens("root"),
	options: []string{"root", "label"},
	open:    func(s Spec) (Source, error) { return openHwmon(s) },
	survey: func() (string, error) {
		h, err := openHwmon(Spec{Name: "hwmon"})
		if err != nil {
			return "", err
		}
		defer h.Close()
		return h.info.Device, nil
	}}

// hwmon reads power sensors (Documentation/hwmon/sysfs-interface): powerN_average
// where there is one, else powerN_input, in microwatts. The target names the
// device (its file "name", such as power_meter for ACPI); without one all are
// read. One device's sensors may contain each other, which no file says: with
// more than one sensor only ACPI's meter, or those that the option label names,
// are summed.
type hwmon struct {
	info   Info
	files  []*os.File
	labels []string // of the channels, in lower_snake_case; without one powerN
}

// acpiMeter is the device of the ACPI power meter: the whole machine.
const acpiMeter = "power_meter"

func openHwmon(s Spec) (*hwmon, error) {
	root := s.Options.Get("root")
	if root == "" {
		root = "/sys/class/hwmon"
	}
	dirs, _ := filepath.Glob(filepath.Join(root, "hwmon*"))
	h := &hwmon{info: Info{Name: s.String(), Scope: ScopeDevice, MinInterval: 100 * time.Millisecond, Uncertainty: s.declared(0.05)}}
	var refused error
	for _, d := range dirs {
		name := firstLine(filepath.Join(d, "name"))
		if s.Target != "" && s.Target != name {
			continue
		}
		refused = errors.Join(refused, h.addDevice(d, name))
	}
	if len(h.files) == 0 {
		if refused != nil {
			return nil, &Unavailable{fmt.Sprintf("no power sensor can be read: %v", refused), "run as root or with CAP_DAC_READ_SEARCH"}
		}
		return nil, &Unavailable{fmt.Sprintf("no power sensor in %s", root), "load the board's sensor driver (acpi_power_meter, ina2xx, ...)"}
	}
	if err := h.choose(s.Options.Get("label")); err != nil {
		h.Close()
		return nil, errors.Join(err, refused)
	}
	h.info.Device = h.device()
	return h, nil
}

func (h *hwmon) addDevice(dir, name string) (refused error) {
	files, _ := filepath.Glob(filepath.Join(dir, "power*_*"))
	slices.Sort(files) // power1_average before power1_input
	done := map[string]bool{}
	for _, path := range files {
		sensor, what, _ := strings.Cut(filepath.Base(path), "_")
		if what != "average" && what != "input" || done[sensor] {
			continue
		}
		f, err := os.Open(path)
		if err != nil {
			refused = errors.Join(refused, err)
			continue
		}
		done[sensor] = true
		label := firstLine(filepath.Join(dir, sensor+"_label"))
		if label == "" {
			label = sensor
		}
		c := Channel{Name: snake(name + "_" + label), Kind: Power, Scope: ScopeDevice, Part: true}
		if name == acpiMeter {
			c.Scope = ScopeBoard
		}
		for _, more := range []string{filepath.Base(dir), sensor} { // two supplies of one make
			if slices.Contains(channelNames(h.info.Channels), c.Name) {
				c.Name += "_" + snake(more)
			}
		}
		h.labels = append(h.labels, snake(label))
		h.files = append(h.files, f)
		h.info.Channels = append(h.info.Channels, c)
	}
	return refused
}

// choose marks the sensors that the source's sum is made of.
func (h *hwmon) choose(label string) error {
	scopes := map[Scope]bool{}
	for i := range h.info.Channels {
		c := &h.info.Channels[i]
		wanted := c.Scope == ScopeBoard || len(h.info.Channels) == 1
		if label != "" {
			wanted = h.labels[i] == snake(label)
		}
		if wanted {
			c.Part = false
			h.info.Scope = c.Scope
			scopes[c.Scope] = true
		}
	}
	switch {
	case label != "" && len(scopes) == 0:
		return fmt.Errorf("no sensor has the label %q; the labels are %s", label, strings.Join(h.labels, ", "))
	case len(scopes) > 1:
		return fmt.Errorf("the label %q belongs to both the machine's meter and a component's sensor: name the device too, hwmon=DEVICE?label=LABEL", label)
	}
	return nil
}

// device says which sensors are summed, and which are there beside them.
func (h *hwmon) device() string {
	var sum, parts []string
	for _, c := range h.info.Channels {
		if c.Part {
			parts = append(parts, c.Name)
		} else {
			sum = append(sum, c.Name)
		}
	}
	text := strings.Join(parts, " ")
	if len(sum) > 0 {
		text = strings.TrimSuffix(strings.Join(sum, " + ")+"; beside it "+text, "; beside it ")
	}
	return text
}

func (h *hwmon) Info() Info { return h.info }

// Read fails only if a sensor of the sum does, or all: another that fails has no
// value.
func (h *hwmon) Read(_ context.Context, v []int64) error {
	var failed error
	lost, read := false, 0
	for i, f := range h.files {
		uw, err := preadInt(f)
		if err == nil {
			v[i], err = micro(float64(uw) / 1e6)
		}
		if err == nil {
			read++
			continue
		}
		v[i] = None
		failed = errors.Join(failed, fmt.Errorf("%s: %w", h.info.Channels[i].Name, err))
		lost = lost || !h.info.Channels[i].Part
	}
	if lost || read == 0 {
		return failed
	}
	return nil
}

func (h *hwmon) Close() error {
	var err error
	for _, f := range h.files {
		err = errors.Join(err, f.Close())
	}
	return err
}

func firstLine(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	s, _, _ := strings.Cut(string(b), "\n")
	return strings.TrimSpace(s)
}
