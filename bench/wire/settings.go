// SPDX-License-Identifier: MIT

package wire

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/zcbench/zcbench/machine/nic"
	"github.com/zcbench/zcbench/machine/tune"
)

// Settings are what a host is to have set while a controller measures with it.
// Zero values leave things as found. The agent holds a lease of them (package
// lease) until it is given others, or ends.
type Settings struct {
	Dev         string `json:"dev,omitempty"` // interface that those up to Device are of
	MTU         int    `json:"mtu,omitempty"` // bytes
	GRO         *bool  `json:"gro,omitempty"`
	HWGRO       *bool  `json:"hw_gro,omitempty"`
	BigTCPBytes int    `json:"big_tcp_bytes,omitempty"` // largest GSO and GRO packet, IPv4 and IPv6
	RXRing      int    `json:"rx_ring,omitempty"`       // descriptors
	TXRing      int    `json:"tx_ring,omitempty"`
	Channels    int    `json:"channels,omitempty"` // queues: combined, or RX and TX where the driver has no combined ones
	// Device are other settings of the interface, by the names of nic.Device.Setting.
	Device []Setting `json:"device,omitempty"`

	SysctlProfile string    `json:"sysctl_profile,omitempty"` // a set of sysctls, see package tune
	Sysctls       []Setting `json:"sysctls,omitempty"`        // others, after the profile's
	HugePages     int       `json:"huge_pages,omitempty"`     // of the default size
	Governor      string    `json:"governor,omitempty"`       // of every CPU's frequency
	MaxIdleUs     *int      `json:"max_idle_us,omitempty"`    // longest exit latency of an idle state, microseconds
	StopBalance   bool      `json:"stop_irqbalance,omitempty"`
	// OnlyNamespace leaves out what belongs to the machine: the other end, on the
	// same one, sets it.
	OnlyNamespace bool `json:"only_namespace,omitempty"`
}

// Setting is one setting by name.
type Setting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// IsZero reports whether everything is left as found.
func (s Settings) IsZero() bool { return !s.ofDevice() && !s.ofHost() }

func (s Settings) ofDevice() bool {
	return s.MTU != 0 || s.GRO != nil || s.HWGRO != nil || s.BigTCPBytes != 0 || s.RXRing != 0 || s.TXRing != 0 || s.Channels != 0 || len(s.Device) > 0
}

func (s Settings) ofHost() bool {
	return s.SysctlProfile != "" || len(s.Sysctls) > 0 || s.HugePages != 0 || s.Governor != "" || s.MaxIdleUs != nil || s.StopBalance
}

// Shared are those that belong to the machine and not to an interface or network
// namespace.
func (s Settings) Shared() Settings {
	w := Settings{SysctlProfile: s.SysctlProfile, HugePages: s.HugePages, Governor: s.Governor, MaxIdleUs: s.MaxIdleUs, StopBalance: s.StopBalance}
	for _, x := range s.Sysctls {
		if !tune.OfNetns(x.Name) {
			w.Sysctls = append(w.Sysctls, x)
		}
	}
	return w
}

// Common is what both want.
func (s Settings) Common(t Settings) Settings {
	c := Settings{Dev: s.Dev, OnlyNamespace: s.OnlyNamespace}
	if s.Dev != t.Dev || s.OnlyNamespace != t.OnlyNamespace {
		return Settings{}
	}
	both(&c.MTU, s.MTU, t.MTU)
	bothPtr(&c.GRO, s.GRO, t.GRO)
	bothPtr(&c.HWGRO, s.HWGRO, t.HWGRO)
	both(&c.BigTCPBytes, s.BigTCPBytes, t.BigTCPBytes)
	both(&c.RXRing, s.RXRing, t.RXRing)
	both(&c.TXRing, s.TXRing, t.TXRing)
	both(&c.Channels, s.Channels, t.Channels)
	both(&c.SysctlProfile, s.SysctlProfile, t.SysctlProfile)
	both(&c.HugePages, s.HugePages, t.HugePages)
	both(&c.Governor, s.Governor, t.Governor)
	bothPtr(&c.MaxIdleUs, s.MaxIdleUs, t.MaxIdleUs)
	both(&c.StopBalance, s.StopBalance, t.StopBalance)
	c.Device, c.Sysctls = inBoth(s.Device, t.Device), inBoth(s.Sysctls, t.Sysctls)
	return c
}

func both[T comparable](to *T, a, b T) {
	if a == b {
		*to = a
	}
}

func bothPtr[T comparable](to **T, a, b *T) {
	if a != nil && b != nil && *a == *b {
		*to = a
	}
}

func inBoth(a, b []Setting) (out []Setting) {
	for _, x := range a {
		if slices.Contains(b, x) {
			out = append(out, x)
		}
	}
	return out
}

// Check refuses what no host could have.
func (s Settings) Check() error {
	switch {
	case s.ofDevice() && s.Dev == "":
		return fmt.Errorf("settings of an interface, and no interface: loopback has none to set; name one")
	case s.MTU != 0 && (s.MTU < 68 || s.MTU > 65535):
		return fmt.Errorf("MTU %d is outside 68..65535", s.MTU)
	case s.BigTCPBytes != 0 && (s.BigTCPBytes < 1<<12 || s.BigTCPBytes > MaxBigTCP):
		return fmt.Errorf("BIG TCP of %d bytes is outside 4096..%d", s.BigTCPBytes, MaxBigTCP)
	case s.RXRing < 0 || s.TXRing < 0 || s.Channels < 0 || s.HugePages < 0 || s.MaxIdleUs != nil && *s.MaxIdleUs < 0:
		return fmt.Errorf("rings, channels, huge pages and idle times cannot be negative")
	}
	for _, x := range s.Device {
		if err := nic.CheckSetting(x.Name, x.Value); err != nil {
			return err
		}
	}
	s.OnlyNamespace = false // what is left out is checked, too
	host, err := s.OfHost()
	if err != nil {
		return err
	}
	if s.Governor != "" {
		host = append(host, Setting{"governor 0", s.Governor}) // of every CPU: the rule is the same
	}
	for _, x := range host {
		if err := tune.CheckSetting(x.Name, x.Value); err != nil {
			return err
		}
	}
	return nil
}

// OfDevice are those of the interface, by the names of nic.Device.Setting, all but the
// channels: of which kind they are, the interface must be asked.
func (s Settings) OfDevice() []Setting {
	var out []Setting
	number := func(name string, v int) {
		if v != 0 {
			out = append(out, Setting{name, strconv.Itoa(v)})
		}
	}
	flag := func(name string, v *bool) {
		if v != nil {
			out = append(out, Setting{"feature " + name, map[bool]string{true: "on", false: "off"}[*v]})
		}
	}
	number("mtu", s.MTU)
	flag(nic.FeatureGRO, s.GRO)
	flag(nic.FeatureHWGRO, s.HWGRO)
	for _, name := range []string{"gso-max-size", "gro-max-size", "gso-ipv4-max-size", "gro-ipv4-max-size"} {
		number(name, s.BigTCPBytes)
	}
	number("ring rx", s.RXRing)
	number("ring tx", s.TXRing)
	return append(out, s.Device...)
}

// OfHost are the sysctls, by the names of tune.FS.Setting: those of the profile, the
// others, and the huge pages.
func (s Settings) OfHost() ([]Setting, error) {
	p, ok := tune.Profiles[s.SysctlProfile]
	if !ok && s.SysctlProfile != "" {
		return nil, fmt.Errorf("unknown sysctl profile %q; there is %s", s.SysctlProfile, tune.Reference.Name)
	}
	var out []Setting
	add := func(name, value string) {
		if tune.OfNetns(name) || !s.OnlyNamespace {
			out = append(out, Setting{"sysctl " + name, value})
		}
	}
	for _, x := range p.Sysctls {
		add(x[0], x[1])
	}
	for _, x := range s.Sysctls {
		add(x.Name, x.Value)
	}
	if s.HugePages != 0 {
		add("vm.nr_hugepages", strconv.Itoa(s.HugePages))
	}
	return out, nil
}

// MaxBigTCP is the kernel's limit of a GRO packet, bytes (GRO_MAX_SIZE).
const MaxBigTCP = 524280

// PlainTCP is the largest packet without BIG TCP, bytes (GSO_LEGACY_MAX_SIZE).
const PlainTCP = 65536

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
