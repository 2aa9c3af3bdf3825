// SPDX-License-Identifier: MIT

package plan

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/zcbench/zcbench/flow/records"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/machine/nic"
	"github.com/zcbench/zcbench/machine/tune"
)

// Settings are what a host is to have set while a controller measures with it. The agent
// holds a lease of them (package lease) until it is given others, or ends.
type Settings struct {
	Dev    string    `json:"dev,omitempty"`   // the interface whose queues the flow uses
	Upper  string    `json:"upper,omitempty"` // the one with address and route, where that is another
	More   []Link    `json:"more,omitempty"`  // interfaces beside those, for the same settings
	Values []Setting `json:"values,omitempty"`
	// Inside is the path of the network namespace of a container, whose sysctls are set in place of
	// the agent's own; "": there is none.
	Inside string `json:"inside,omitempty"`
	// OnlyNamespace leaves out what belongs to the machine: the other end, on the
	// same one, sets it.
	OnlyNamespace bool `json:"only_namespace,omitempty"`
}

// Link is an interface whose queues flows use, and that with address and route, where that is
// another.
type Link struct {
	Dev   string `json:"dev"`
	Upper string `json:"upper,omitempty"`
}

// Setting is one setting by name: one of nic.Device.Setting or tune.FS.Setting, or one of
// those below, for which the agent looks at its host.
type Setting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// What the agent translates.
const (
	// HeaderSplit of all packets: on or off, beside the interface's own form.
	HeaderSplit = "header-split"
	Channels    = "channels"   // a number of queues: combined, or RX and TX where the driver has no combined ones
	Governor    = "governor"   // of every CPU's frequency
	Idle        = "idle"       // longest exit latency of an idle state, microseconds
	IRQBalance  = "irqbalance" // tune.Stopped
)

// fastOpen is the sysctl of TCP Fast Open.
const fastOpen = "sysctl net.ipv4.tcp_fastopen"

// OfHost reports whether a setting is the host's, not an interface's.
func (x Setting) OfHost() bool {
	word, _, _ := strings.Cut(x.Name, " ")
	return slices.Contains([]string{"sysctl", Governor, Idle, IRQBalance}, word)
}

// OfMachine reports whether a setting belongs to the machine, and not to a network namespace.
func (x Setting) OfMachine() bool {
	name, ok := strings.CutPrefix(x.Name, "sysctl ")
	return x.OfHost() && !(ok && tune.OfNetns(name))
}

// OfNetns reports whether a setting belongs to a network namespace, and to no interface.
func (x Setting) OfNetns() bool { return x.OfHost() && !x.OfMachine() }

// splits reports whether the setting is header split of all packets, or none.
func (x Setting) splits() bool {
	return x.Name == HeaderSplit && (x.Value == "on" || x.Value == "off")
}

// check refuses what no host could have.
func (x Setting) check() error {
	var err error
	switch n, nerr := strconv.Atoi(x.Value); {
	case x.Name == Channels && nerr == nil && n < 1, x.Name == Idle && (nerr != nil || n < 0):
		err = fmt.Errorf("%s: %.40q is not a number that it can have", x.Name, x.Value)
	case x.Name == Channels && nerr == nil, x.Name == Idle: // else it is the interface's own form
	case x.splits():
	case x.Name == Governor:
		err = tune.CheckSetting("governor 0", x.Value) // of every CPU: the rule is the same
	case x.OfHost():
		err = tune.CheckSetting(x.Name, x.Value)
	default:
		err = nic.CheckSetting(x.Name, x.Value)
	}
	return err
}

// SettingsOf lists the settings that a cell asks of the host of an end, and sysctls beside them:
// those of the interface, then the sysctls, a profile's first, then the rest of the host's. What is
// the receiver's is both ends' where both receive.
func SettingsOf(role stream.Role, c Cell, sysctls map[string]string) Settings {
	var dev, host []Setting
	for i := range Options {
		o := &Options[i]
		v := o.Raw(&c)
		if v == "" || o.Role != "" && o.Role != role && !(c.BothWays() && o.Role == stream.RX && o.Also == "") {
			continue
		}
		for _, name := range o.Sets {
			if x := (Setting{name, settingValue(name, v)}); x.Value == "" || name == tlsFeatures[1] &&
				role == stream.RX &&
				!c.BothWays() || name == tlsFeatures[0] && role == stream.TX && !c.BothWays() {
			} else if x.OfHost() {
				host = append(host, x)
			} else {
				dev = append(dev, x)
			}
		}
	}
	for _, x := range c.Others() {
		if x.End == "" || (x.End == "sut") == (role == stream.RX) {
			dev = append(dev, Setting{x.Name, x.Value})
		}
	}
	for _, x := range tune.Profiles[c.SysctlProfile].Sysctls {
		dev = append(dev, Setting{"sysctl " + x[0], x[1]})
	}
	for _, name := range slices.Sorted(maps.Keys(sysctls)) {
		dev = append(dev, Setting{"sysctl " + name, sysctls[name]})
	}
	return Settings{Values: append(dev, host...)}
}

// settingValue converts an option's value to that of its setting; "": nothing is set.
func settingValue(name, v string) string {
	switch {
	case name == fastOpen && v == "true":
		return "3" // clients may send by it (1), and servers take it (2)
	case name == fastOpen:
		return ""
	case slices.Contains(tlsFeatures, name) && v == string(records.Device):
		return "on"
	case slices.Contains(tlsFeatures, name):
		return ""
	case name == IRQBalance && v == "true":
		return tune.Stopped
	case name == IRQBalance:
		return ""
	case v == "true":
		return "on"
	case v == "false":
		return "off"
	}
	return v
}

// IsZero reports whether everything is left as found.
func (s Settings) IsZero() bool { return len(s.Values) == 0 }

// Equal reports whether both want the same.
func (s Settings) Equal(t Settings) bool {
	return s.same(t) && slices.Equal(s.Values, t.Values)
}

// same reports whether both are of the same interfaces and namespace.
func (s Settings) same(t Settings) bool {
	return s.Dev == t.Dev && s.Upper == t.Upper && slices.Equal(s.More, t.More) && s.Inside == t.Inside &&
		s.OnlyNamespace == t.OnlyNamespace
}

// Wanted returns the values without those that the other end sets.
func (s Settings) Wanted() []Setting {
	return slices.DeleteFunc(slices.Clone(s.Values), func(x Setting) bool { return s.OnlyNamespace && x.OfMachine() })
}

// Value looks up the value of a setting by name; "" where it is left as found.
func (s Settings) Value(name string) string {
	for _, x := range s.Wanted() {
		if x.Name == name {
			return x.Value
		}
	}
	return ""
}

// Shared picks the settings that belong to the machine and not to an interface or network
// namespace.
func (s Settings) Shared() []Setting {
	return slices.DeleteFunc(slices.Clone(s.Values), func(x Setting) bool { return !x.OfMachine() })
}

// Common returns the settings that both want.
func (s Settings) Common(t Settings) Settings {
	if !s.same(t) {
		return Settings{}
	}
	s.Values = slices.DeleteFunc(slices.Clone(s.Values), func(x Setting) bool { return !slices.Contains(t.Values, x) })
	return s
}

// Each lists the settings by interface: those of the first with the host's, then what each other
// one is to have.
func (s Settings) Each() []Settings {
	all := []Settings{s}
	all[0].More = nil
	for _, l := range s.More {
		own := s
		own.Dev, own.Upper, own.More = l.Dev, l.Upper, nil
		own.Values = slices.DeleteFunc(slices.Clone(s.Values), Setting.OfHost)
		all = append(all, own)
	}
	return all
}

// Check refuses what no host could have.
func (s Settings) Check() error {
	if s.Inside != "" && !filepath.IsAbs(s.Inside) {
		return fmt.Errorf("a container at %.80q", s.Inside)
	}
	for _, x := range s.Values {
		if s.Dev == "" && !x.OfHost() {
			return fmt.Errorf("settings of an interface, but no interface: loopback has none to set; name one")
		}
		if err := x.check(); err != nil {
			return err
		}
	}
	return nil
}

// SetResult is what the agent changed.
type SetResult struct {
	Changed []string `json:"changed,omitempty"`
}

// RestoreParams say how thorough to be.
type RestoreParams struct {
	DryRun bool `json:"dry_run,omitempty"`
	Force  bool `json:"force,omitempty"`
	Adopt  bool `json:"adopt,omitempty"` // also journals that are refused although they are ours
}
