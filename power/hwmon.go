// SPDX-License-Identifier: MIT

package power

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/internal/kernelfile"
	"github.com/zcbench/zcbench/internal/lazy"
	"github.com/zcbench/zcbench/internal/privilege"
)

var hwmonKind = sourceKind{inBand: true, summary: "board sensors (hwmon powerN_average, powerN_input)",
	example: "hwmon=power_meter",
	reaches: opens("root"),
	options: []string{"root", "label", "sensor"},
	check: func(s Spec) error {
		switch {
		case s.Options.Has("label") && s.Options.Has("sensor"):
			return errors.New("give label or sensor: the sensors that are named are all that is summed")
		case s.Options.Has("sensor") && len(optionList(s.Options.Get("sensor"))) == 0:
			return errors.New("sensor is empty: it must be DEVICE/powerN, or several joined by a semicolon")
		}
		return nil
	},
	open:   func(s Spec) (Source, error) { return openHwmon(s) },
	survey: func() (info, error) { return surveyed(kinds["hwmon"].open(Spec{Name: "hwmon"})) }}

// hwmon reads power sensors (Documentation/hwmon/sysfs-interface): powerN_average
// where there is one, else powerN_input, in microwatts. The target names the
// device (its file "name", such as power_meter for ACPI); without one all are
// read. Sensors may contain each other or show one meter, which no file says. So what
// stands for the source is what the user names, else the one ACPI meter, else the only
// sensor that there is.
type hwmon struct {
	info    info
	sensors []hwmonSensor // of the channels
}

// hwmonSensor is one sensor, with what tells it from the others.
type hwmonSensor struct {
	file     *os.File
	chip     string        // "ina238"
	dir      string        // "hwmon3"
	device   string        // of the bus that it is on: "3-0058", "ACPI000D:00"; "" where it has none
	sensor   string        // "power1"
	label    string        // "NIC 12V"; without one "power1"
	more     string        // what its driver says of it
	averages time.Duration // 0: not known
}

// acpiMeter is the device of the ACPI power meter: the whole machine, unless it says that
// it measures a battery.
const acpiMeter = "power_meter"

var hwmonFile = lazy.Regexp(`^(power\d+)_(average|input)$`)

func openHwmon(s Spec) (*hwmon, error) {
	root := s.Options.Get("root")
	if root == "" {
		root = "/sys/class/hwmon"
	}
	dirs, _ := filepath.Glob(filepath.Join(root, "hwmon*"))
	h := &hwmon{info: info{Name: s.String(), Scope: scopeDevice, MinInterval: 100 * time.Millisecond,
		Averages: s.averages(), Uncertainty: s.declared(0.05)}}
	var refused error
	var others []string
	for _, d := range dirs {
		name, at := hwmonPlace(d)
		if s.Target != "" && s.Target != name {
			others = append(others, name)
			continue
		}
		refused = errors.Join(refused, h.addDevice(d, at, name))
	}
	if len(h.sensors) == 0 {
		if refused != nil {
			return nil, hwmonRefused(refused)
		}
		return nil, noSensor(root, s.Target, others)
	}
	if err := h.choose(s.Options.Get("label"), optionList(s.Options.Get("sensor"))); err != nil {
		h.Close()
		return nil, errors.Join(err, refused)
	}
	h.info.Device = h.device()
	return h, nil
}

// hwmonRefused explains why sensors that are there cannot be read.
func hwmonRefused(err error) *unavailable {
	fix := "dmesg shows what their driver says of it; ipmi or redfish may read the machine"
	switch {
	case kernelfile.IsNotKernels(err):
		fix = "measure on the host: another file stands at the place of the kernel's"
	case errors.Is(err, os.ErrPermission):
		fix = privilege.Fix(privilege.File, unix.CAP_DAC_READ_SEARCH)
	}
	return &unavailable{fmt.Sprintf("no power sensor can be read: %v", err), fix}
}

// hwmonPlace finds a device's name and the folder of its files. Drivers that register without
// attributes, as that of the ACPI meter did until 2025, have them all in the folder of the device
// itself; libsensors looks there, too (lib/sysfs.c).
func hwmonPlace(dir string) (name, at string) {
	for _, at := range []string{dir, filepath.Join(dir, "device")} {
		if name := firstLine(filepath.Join(at, "name")); name != "" {
			return name, at
		}
	}
	return filepath.Base(dir), dir
}

func (h *hwmon) addDevice(dir, at, name string) (refused error) {
	files, _ := filepath.Glob(filepath.Join(at, "power*_*"))
	slices.Sort(files) // power1_average before power1_input
	done := map[string]bool{}
	for _, path := range files {
		m := hwmonFile().FindStringSubmatch(filepath.Base(path))
		if m == nil || done[m[1]] {
			continue
		}
		f, err := kernelfile.Open(path)
		if err != nil {
			refused = errors.Join(refused, err)
			continue
		}
		done[m[1]] = true
		h.add(hwmonSensor{file: f, chip: name, dir: filepath.Base(dir), device: hwmonDevice(dir), sensor: m[1]},
			at, m[2])
	}
	return refused
}

// add takes a sensor in, with what its files say of it.
func (h *hwmon) add(s hwmonSensor, at, what string) {
	file := func(name string) string { return firstLine(filepath.Join(at, s.sensor+"_"+name)) }
	if s.label = file("label"); s.label == "" {
		s.label = s.sensor
	}
	if ms, err := strconv.ParseInt(file("average_interval"), 10, 64); err == nil && what == "average" &&
		ms < 1<<40 {
		s.averages = averages(time.Duration(ms) * time.Millisecond)
	}
	for _, name := range []string{"model_number", "oem_info"} {
		if text := file(name); text != "" {
			s.more += ", " + shortened(text, 40)
		}
	}
	c := channel{Name: snake(s.chip + "_" + s.label), Kind: power, Scope: scopeDevice, Part: true}
	switch battery := file("is_battery") == "1"; {
	case s.chip == acpiMeter && battery:
		s.more += ", of a battery"
	case s.chip == acpiMeter:
		c.Scope = scopeBoard
	}
	for _, more := range []string{s.dir, s.sensor} { // two supplies of one make
		if slices.Contains(channelNames(h.info.Channels), c.Name) {
			c.Name += "_" + snake(more)
		}
	}
	h.sensors = append(h.sensors, s)
	h.info.Channels = append(h.info.Channels, c)
}

// hwmonDevice returns what a hwmon folder's device is called on its bus: unlike the folder's, this
// name survives a restart.
func hwmonDevice(dir string) string {
	to, err := filepath.EvalSymlinks(filepath.Join(dir, "device"))
	if err != nil || filepath.Base(to) == "device" {
		return ""
	}
	return filepath.Base(to)
}

// id names a sensor unmistakably.
func (s hwmonSensor) id() string {
	if s.device != "" {
		return s.device + "/" + s.sensor
	}
	return s.dir + "/" + s.sensor
}

func (s hwmonSensor) is(id string) bool { return id == s.id() || id == s.dir+"/"+s.sensor }

// describe formats what distinguishes a sensor from the others, with its present reading.
func (s hwmonSensor) describe() string {
	now := "no reading"
	if uw, err := preadInt(s.file); err == nil {
		now = formatWatts(float64(uw)/1e6) + " W"
	}
	label := ""
	if s.label != s.sensor {
		label = fmt.Sprintf(", label %q", s.label)
	}
	return fmt.Sprintf("%s (%s%s%s: %s)", s.id(), s.chip, label, s.more, now)
}

// choose marks the sensors that the source's sum is made of.
func (h *hwmon) choose(label string, named []string) error {
	var sum []int
	switch {
	case len(named) > 0:
		var err error
		if sum, err = h.named(named); err != nil {
			return err
		}
	case label != "":
		sum = h.indices(func(i int) bool { return snake(h.sensors[i].label) == snake(label) })
		if len(sum) == 0 {
			var labels []string
			for _, s := range h.sensors {
				labels = append(labels, snake(s.label))
			}
			return fmt.Errorf("no sensor has the label %q; the labels are %s", label, strings.Join(labels,
				", "))
		}
	default:
		if sum = h.indices(func(i int) bool { return h.info.Channels[i].Scope == scopeBoard }); len(sum) == 0 {
			sum = h.indices(func(int) bool { return true })
		}
	}
	if len(sum) > 1 && len(named) == 0 {
		h.info.NoSum = h.several(sum)
		return nil
	}
	scopes := map[Scope]bool{}
	for _, i := range sum {
		c := &h.info.Channels[i]
		c.Part = false
		h.info.Scope, h.info.Averages = c.Scope, max(h.info.Averages, h.sensors[i].averages)
		scopes[c.Scope] = true
	}
	if len(scopes) > 1 {
		return errors.New("the machine's meter and a component's sensor are named: the one has the other in it")
	}
	return nil
}

func (h *hwmon) indices(which func(int) bool) (out []int) {
	for i := range h.sensors {
		if which(i) {
			out = append(out, i)
		}
	}
	return out
}

// named looks up sensors by their names, each once.
func (h *hwmon) named(names []string) (out []int, err error) {
	for _, n := range names {
		is := h.indices(func(i int) bool { return h.sensors[i].is(n) })
		switch {
		case len(is) == 0:
			return nil, fmt.Errorf("no sensor %q; there are %s", short(n),
				h.list(h.indices(func(int) bool { return true })))
		case len(is) > 1:
			return nil, fmt.Errorf("sensor %q is more than one: %s; name it by its hwmon folder", short(n),
				h.list(is))
		case slices.Contains(out, is[0]):
			return nil, fmt.Errorf("sensor %q is named twice and would be counted twice", short(n))
		}
		out = append(out, is[0])
	}
	return out, nil
}

// several explains why none of some sensors stands for the source.
func (h *hwmon) several(sum []int) *unavailable {
	return &unavailable{fmt.Sprintf(
		"%d sensors, and nothing says whether one has another in it or shows the same meter: %s", len(sum),
		h.list(sum)),
		fmt.Sprintf("name one: %s; several that are known to be apart are joined by a semicolon, in quotes: "+
			"'hwmon?sensor=A;B'",
			given("hwmon?sensor="+h.sensors[sum[0]].id()))}
}

// mostListed is how many meters a message lists.
const mostListed = 12

func (h *hwmon) list(which []int) string {
	var out []string
	for _, i := range which {
		out = append(out, h.sensors[i].describe())
	}
	return listed(out)
}

// listed joins what is listed in a message.
func listed(all []string) string {
	if n := len(all) - mostListed; n > 0 {
		all = append(slices.Clone(all[:mostListed]), fmt.Sprintf("%d more", n))
	}
	return strings.Join(all, ", ")
}

// device names the sensors that are summed, and those beside them.
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

func (h *hwmon) Info() info { return h.info }

// Read fails only if a sensor of the sum does, or all: another that fails has no
// value. One of several in the sum may read 0, as a supply in standby does, but not all.
func (h *hwmon) Read(_ context.Context, v []int64) error {
	var failed error
	lost, read := false, 0
	sum, summed := int64(0), false
	for i, s := range h.sensors {
		c := h.info.Channels[i]
		uw, err := preadInt(s.file)
		if err == nil {
			v[i], err = microPart(float64(uw) / 1e6)
		}
		if err == nil && c.Part && uw == 0 {
			err = errZero
		}
		if err == nil {
			read++
			if !c.Part {
				sum, summed = sum+v[i], true
			}
			continue
		}
		v[i] = none
		failed = errors.Join(failed, fmt.Errorf("%s: %w", c.Name, err))
		lost = lost || !c.Part
	}
	switch {
	case lost || read == 0:
		return failed
	case summed && sum == 0:
		return errZero
	}
	return nil
}

func (h *hwmon) Close() error {
	var err error
	for _, s := range h.sensors {
		err = errors.Join(err, s.file.Close())
	}
	return err
}

func firstLine(path string) string {
	b, err := kernelfile.ReadFile(path)
	if err != nil {
		return ""
	}
	s, _, _ := strings.Cut(string(b), "\n")
	return strings.TrimSpace(s)
}
