// SPDX-License-Identifier: MIT

package power

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// redfishMeter is one reading that a BMC has.
type redfishMeter struct {
	path    string // of its resource
	part    string // the JSON pointer of one of several in it; "": the resource is one
	label   string // what the BMC calls it
	ofPart  bool   // the BMC says that it is of a part of the machine
	parse   func([]byte) (redfishReading, error)
	reading redfishReading
}

// name returns how the user names it.
func (m redfishMeter) name() string {
	if m.part == "" {
		return m.path
	}
	return m.path + "#" + m.part
}

func (m redfishMeter) String() string {
	label := ""
	if m.label != "" {
		label = fmt.Sprintf("%q, ", short(m.label))
	}
	return fmt.Sprintf("%s (%s%s W)", shortened(m.name(), mostName), label, formatWatts(m.reading.watts))
}

// use makes a meter what is read.
func (r *redfish) use(m redfishMeter) {
	r.path, r.parse = m.path, m.parse
	r.info.Averages = max(r.info.Averages, m.reading.averages)
	r.info.Device = shortened(m.name(), mostName)
	if m.label != "" {
		r.info.Device += ", " + shortened(m.label, 60)
	}
	if m.reading.from != "" {
		r.info.Device += ", from " + shortened(m.reading.from, mostName)
	}
	r.doubt(m.reading)
}

// doubt notes what the BMC says against a meter that has a reading.
func (r *redfish) doubt(x redfishReading) {
	r.info.Doubts = nil
	if r.unread > 0 {
		r.info.Doubts = append(r.info.Doubts,
			fmt.Sprintf("%d of the BMC's chassis could not be read: another may have a meter, too", r.unread))
	}
	if x.state != "" {
		r.info.Doubts = append(r.info.Doubts,
			"the BMC says that the meter's state is "+short(x.state)+
				", and yet has a reading: compare it with another source")
	}
}

// redfishLink is a reference to another resource.
type redfishLink struct {
	ID string `json:"@odata.id"`
}

// redfishChassis is a chassis with its readings and its relations.
type redfishChassis struct {
	ID                        string `json:"@odata.id"`
	ChassisType               string
	EnvironmentMetrics, Power redfishLink
	Links                     struct {
		ContainedBy               redfishLink
		Contains, ComputerSystems []redfishLink
	}

	meters []redfishMeter
}

// mostChassis bounds how many are asked whether they have a reading: each is a
// request, and what is wrong with it a part of the error.
const mostChassis = 24

// find picks the meter that the user names, else the one that stands for the machine: the only one,
// or that of the chassis that contains all the others with a meter. Of several whose relation the
// BMC does not tell none is taken.
func (r *redfish) find(ctx context.Context, want, meter string) (redfishMeter, error) {
	if meter != "" {
		return r.meterAt(ctx, meter)
	}
	paths, err := r.members(ctx, want)
	if err != nil {
		return redfishMeter{}, err
	}
	var all []*redfishChassis
	var why error
	for _, path := range paths {
		c, err := r.look(ctx, path)
		if c != nil {
			all = append(all, c)
		} else {
			r.unread++
		}
		why = errors.Join(why, err)
	}
	if ctx.Err() != nil {
		return redfishMeter{}, &unavailable{fmt.Sprintf("the BMC takes too long to list the meters of its %d chassis",
			len(paths)),
			"choose one with chassis=ID, or a meter with meter=PATH"}
	}
	var with []*redfishChassis
	for _, c := range all {
		if len(c.meters) > 0 {
			with = append(with, c)
		}
	}
	if len(with) == 0 {
		return redfishMeter{}, fmt.Errorf("no chassis with a power reading: %w", why)
	}
	whole := with[0]
	if len(with) > 1 {
		whole = outermost(all, with)
	}
	if whole != nil && (want != "" || !whole.shared(all)) && len(whole.meters) == 1 && !whole.meters[0].ofPart {
		return whole.meters[0], nil
	}
	return redfishMeter{}, several(with)
}

// node are the kinds of chassis that are one of several systems in another chassis
// (Chassis.ChassisType of DSP8010).
var node = []string{"Blade", "Sled", "Cartridge"}

// shared reports whether a chassis has others' machines in it, so that its reading is of all of
// them, though a node's BMC lists its own system alone: a rack, or the enclosure of a blade.
func (c *redfishChassis) shared(all []*redfishChassis) bool {
	switch c.ChassisType {
	case "Rack", "RackGroup", "Row", "Pod", "PowerStrip":
		return true
	}
	in := containers(all)
	return slices.ContainsFunc(all, func(o *redfishChassis) bool {
		return o != c && slices.Contains(node, o.ChassisType) && isInside(in, o, c)
	})
}

// several lists the meters of which none is known to be the machine's.
func several(with []*redfishChassis) *unavailable {
	var all []string
	first := ""
	for _, c := range with {
		for _, m := range c.meters {
			all = append(all, m.String())
			if first == "" {
				first = m.name()
			}
		}
	}
	why := fmt.Sprintf("%d power readings, and the BMC does not say which is the whole machine's: %s", len(all),
		listed(all))
	if len(all) == 1 {
		why = "one power reading, and the BMC says that it is not of this machine as a whole, or of others, too: " +
			all[0]
	}
	return &unavailable{why,
		"name one: " + given("redfish=ADDRESS?meter="+shortened(first, mostName))}
}

// members reads the paths of the chassis, or of the one that is wanted.
func (r *redfish) members(ctx context.Context, want string) (paths []string, err error) {
	next, n := "/redfish/v1/Chassis", 0
	for range 8 { // pages
		var page struct {
			Members []redfishLink
			Next    string `json:"Members@odata.nextLink"`
		}
		if err := r.decode(ctx, next, &page); err != nil {
			return nil, err
		}
		n += len(page.Members)
		for _, m := range page.Members {
			if (want == "" || m.ID[strings.LastIndexByte(m.ID, '/')+1:] == want) && len(paths) <= mostChassis {
				paths = append(paths, m.ID)
			}
		}
		if next = page.Next; next == "" {
			break
		}
	}
	switch {
	case len(paths) == 0 && want != "":
		return nil, &unavailable{fmt.Sprintf("no such chassis: %s", short(want)),
			"name one of /redfish/v1/Chassis, or leave chassis= out"}
	case len(paths) == 0:
		return nil, errors.New("no chassis with a power reading: the BMC lists none")
	case len(paths) > mostChassis:
		return nil, &unavailable{fmt.Sprintf("the BMC has %d chassis, too many to ask each for its meters", n),
			"choose one with chassis=ID, or a meter with meter=PATH"}
	}
	return paths, nil
}

// look reads a chassis with its meters. What it has without a reading is in the error.
func (r *redfish) look(ctx context.Context, path string) (*redfishChassis, error) {
	c := &redfishChassis{}
	if err := r.decode(ctx, path, c); err != nil {
		return nil, err
	}
	c.ID = path
	why := fmt.Errorf("%s has neither EnvironmentMetrics nor Power", short(path))
	if at := c.EnvironmentMetrics.ID; at != "" {
		// What it has is the total of its chassis (EnvironmentMetrics, PowerWatts).
		m := redfishMeter{path: at, parse: parseEnvironmentMetrics}
		if why = r.read(ctx, &m); why == nil {
			c.meters = []redfishMeter{m}
			return c, nil
		}
	}
	if at := c.Power.ID; at != "" {
		b, err := r.get(ctx, at)
		if err == nil {
			c.meters, err = powerMeters(b, at, path)
		}
		if why = err; err != nil {
			why = fmt.Errorf("%s: %w", short(at), err)
		}
	}
	return c, why
}

func (r *redfish) read(ctx context.Context, m *redfishMeter) error {
	b, err := r.get(ctx, m.path)
	if err != nil {
		return err
	}
	if m.reading, err = m.parse(b); err != nil {
		return fmt.Errorf("%s: %w", short(m.path), err)
	}
	return nil
}

// outermost finds the chassis with a meter that contains all the others with one; nil where there
// is none, or where it contains several machines.
func outermost(all, with []*redfishChassis) *redfishChassis {
	in := containers(all)
	for _, o := range with {
		has := func(c *redfishChassis) bool { return c == o || isInside(in, c, o) }
		if !slices.ContainsFunc(with, func(c *redfishChassis) bool { return !has(c) }) &&
			len(o.Links.ComputerSystems) <= 1 {
			return o
		}
	}
	return nil
}

// containers maps each chassis to the one that contains it, by their paths.
func containers(all []*redfishChassis) map[string]string {
	in := map[string]string{}
	for _, c := range all {
		if up := c.Links.ContainedBy.ID; up != "" {
			in[plainPath(c.ID)] = plainPath(up)
		}
		for _, x := range c.Links.Contains {
			in[plainPath(x.ID)] = plainPath(c.ID)
		}
	}
	return in
}

// isInside reports whether a chassis is in another, by any number of steps.
func isInside(in map[string]string, c, outer *redfishChassis) bool {
	at := plainPath(c.ID)
	for range mostChassis {
		if at = in[at]; at == plainPath(outer.ID) {
			return true
		}
	}
	return false
}

func plainPath(p string) string { return strings.TrimRight(p, "/") }

// meterAt reads the meter at a path that the user names.
func (r *redfish) meterAt(ctx context.Context, name string) (redfishMeter, error) {
	path, part, _ := strings.Cut(name, "#")
	b, err := r.get(ctx, path)
	if err != nil {
		return redfishMeter{}, err
	}
	if part != "" {
		at, err := strconv.Atoi(strings.TrimPrefix(part, "/PowerControl/"))
		if err != nil || at < 0 {
			return redfishMeter{}, fmt.Errorf("meter %q: after # must stand /PowerControl/ and a number",
				short(name))
		}
		m := redfishMeter{path: path, part: part, parse: parsePowerAt(at)}
		m.reading, err = m.parse(b)
		return m, err
	}
	var kind struct {
		PowerControl json.RawMessage
		Reading      json.RawMessage
	}
	if err := json.Unmarshal(b, &kind); err != nil {
		return redfishMeter{}, fmt.Errorf("%s: not JSON: %w", short(path), err)
	}
	m := redfishMeter{path: path, parse: parseEnvironmentMetrics}
	switch {
	case kind.PowerControl != nil:
		m.parse = parsePower
	case kind.Reading != nil:
		m.parse = parseSensor
	}
	m.reading, err = m.parse(b)
	if err != nil {
		err = fmt.Errorf("%s: %w", short(path), err)
	}
	return m, err
}

// redfishStatus is what a resource says of itself.
type redfishStatus struct{ State string }

// trouble returns the state, unless it is that of something that works.
func (s redfishStatus) trouble() string {
	if s.State == "Enabled" {
		return ""
	}
	return s.State
}

// parseEnvironmentMetrics reads PowerWatts.Reading.
func parseEnvironmentMetrics(b []byte) (redfishReading, error) {
	var m struct {
		Status     redfishStatus
		PowerWatts *struct {
			Reading       *float64
			DataSourceUri string
		}
	}
	if err := json.Unmarshal(b, &m); err != nil {
		return redfishReading{}, fmt.Errorf("not JSON: %w", err)
	}
	if m.PowerWatts == nil || m.PowerWatts.Reading == nil {
		return redfishReading{}, errNoReading
	}
	return redfishReading{watts: *m.PowerWatts.Reading, from: m.PowerWatts.DataSourceUri,
		state: m.Status.trouble()}, nil
}

// parseSensor reads a Sensor, which must be one of watts.
func parseSensor(b []byte) (redfishReading, error) {
	var m struct {
		Reading                         *float64
		Name, ReadingUnits, ReadingType string
		Status                          redfishStatus
		AveragingInterval               string
	}
	switch err := json.Unmarshal(b, &m); {
	case err != nil:
		return redfishReading{}, fmt.Errorf("not JSON: %w", err)
	case m.Reading == nil:
		return redfishReading{}, errNoReading
	case m.ReadingUnits != "W":
		return redfishReading{}, fmt.Errorf("the sensor reads in %q, and not in W", short(m.ReadingUnits))
	}
	r := redfishReading{watts: *m.Reading, from: m.Name, state: m.Status.trouble()}
	if s, ok := strings.CutPrefix(m.AveragingInterval, "PT"); ok {
		if d, err := time.ParseDuration(strings.ToLower(s)); err == nil {
			r.averages = averages(d)
		}
	}
	return r, nil
}

// powerControl is one of a Power resource.
type powerControl struct {
	Name, PhysicalContext string
	PowerConsumedWatts    *float64
	PowerMetrics          struct{ IntervalInMin float64 }
	RelatedItem           json.RawMessage // links, by the schema
	Status                redfishStatus
}

func parseControls(b []byte) ([]powerControl, error) {
	var m struct{ PowerControl []powerControl }
	if err := json.Unmarshal(b, &m); err != nil {
		return nil, fmt.Errorf("not JSON: %w", err)
	}
	return m.PowerControl, nil
}

func (c powerControl) reading(i int) redfishReading {
	r := redfishReading{watts: *c.PowerConsumedWatts, from: fmt.Sprintf("PowerControl[%d]", i),
		state: c.Status.trouble()}
	if m := c.PowerMetrics.IntervalInMin; m > 0 && m <= mostAverage.Minutes() {
		r.averages = averages(time.Duration(m * float64(time.Minute)))
	}
	return r
}

// isWhole reports whether the control says that it is of a machine or of its chassis, and
// not of a part of it.
func (c powerControl) isWhole(chassis string) bool {
	var items []redfishLink
	if json.Unmarshal(c.RelatedItem, &items) != nil {
		return c.PhysicalContext == "Chassis"
	}
	return c.PhysicalContext == "Chassis" || slices.ContainsFunc(items, func(l redfishLink) bool {
		system, ok := strings.CutPrefix(plainPath(l.ID), "/redfish/v1/Systems/")
		return ok && !strings.Contains(system, "/") || plainPath(l.ID) == plainPath(chassis)
	})
}

// ofPart reports whether the control says that it is of a part alone: by its context, or by links
// to nothing but what a system has.
func (c powerControl) ofPart() bool {
	switch c.PhysicalContext {
	case "CPU", "CPUSubsystem", "GPU", "GPUSubsystem", "Memory", "MemorySubsystem", "Accelerator", "ASIC", "FPGA",
		"Fan", "NetworkingDevice", "StorageDevice", "StorageSubsystem", "PCIeDevice":
		return true
	}
	var items []redfishLink
	return json.Unmarshal(c.RelatedItem, &items) == nil && len(items) > 0 &&
		!slices.ContainsFunc(items, func(l redfishLink) bool {
			system, ok := strings.CutPrefix(plainPath(l.ID), "/redfish/v1/Systems/")
			return !ok || !strings.Contains(system, "/")
		})
}

// powerMeters parses the controls of a Power resource that have a reading: only that of the whole
// if one, and no other, says that it is.
func powerMeters(b []byte, path, chassis string) ([]redfishMeter, error) {
	all, err := parseControls(b)
	if err != nil {
		return nil, err
	}
	var meters, whole []redfishMeter
	for i, c := range all {
		if c.PowerConsumedWatts == nil {
			continue
		}
		m := redfishMeter{path: path, part: fmt.Sprintf("/PowerControl/%d", i), label: c.Name,
			parse: parsePowerAt(i), reading: c.reading(i), ofPart: c.ofPart()}
		meters = append(meters, m)
		if c.isWhole(chassis) {
			whole = append(whole, m)
		}
	}
	switch {
	case len(meters) == 0:
		return nil, errNoReading
	case len(whole) == 1:
		return whole, nil
	}
	return meters, nil
}

// parsePowerAt reads one control of a Power resource.
func parsePowerAt(at int) func([]byte) (redfishReading, error) {
	return func(b []byte) (redfishReading, error) {
		all, err := parseControls(b)
		if err != nil {
			return redfishReading{}, err
		}
		if at >= len(all) || all[at].PowerConsumedWatts == nil {
			return redfishReading{}, errNoReading
		}
		return all[at].reading(at), nil
	}
}

// parsePower reads the control of a Power resource that is the whole's, or the only one.
func parsePower(b []byte) (redfishReading, error) {
	meters, err := powerMeters(b, "", "")
	switch {
	case err != nil:
		return redfishReading{}, err
	case len(meters) > 1:
		return redfishReading{}, fmt.Errorf("it has %d readings: name one by #/PowerControl/ and its number",
			len(meters))
	}
	return meters[0].reading, nil
}
