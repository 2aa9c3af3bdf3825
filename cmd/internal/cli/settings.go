// SPDX-License-Identifier: MIT

package cli

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/internal/units"
	"github.com/zcbench/zcbench/machine/tune"
	"github.com/zcbench/zcbench/results"
)

// Settings are the flags of what a run sets on its hosts, and takes back.
type Settings struct {
	MTU                      int
	gro, hwGRO               onOff
	bigTCP                   bigTCP
	rxRing, txRing, channels int
	device                   deviceSettings
	profile, governor        string
	hugePages                int
	maxIdle                  optionalInt
	stopBalance              bool
}

// onOff is a switch that may be left as it is.
type onOff struct{ v *bool }

func (o *onOff) String() string {
	if o.v == nil {
		return ""
	}
	return map[bool]string{true: "on", false: "off"}[*o.v]
}

func (o *onOff) Set(s string) error {
	on := s == "on"
	if !on && s != "off" {
		return fmt.Errorf("%q is not on or off", s)
	}
	o.v = &on
	return nil
}

func (o *onOff) Type() string { return "on|off" }

// bigTCP is a size, or off.
type bigTCP struct{ bytes units.Bytes }

func (b *bigTCP) String() string {
	if b.bytes == 0 {
		return ""
	}
	return strconv.Itoa(int(b.bytes))
}

func (b *bigTCP) Set(s string) error {
	if s == "off" {
		b.bytes = wire.PlainTCP
		return nil
	}
	return b.bytes.Set(s)
}

func (b *bigTCP) Type() string { return "bytes|off" }

// deviceSettings are [sut:|tg:]NAME=VALUE.
type deviceSettings struct{ sut, tg []wire.Setting }

func (d *deviceSettings) String() string { return "" }

func (d *deviceSettings) Set(s string) error {
	rest, onSUT := strings.CutPrefix(s, "sut:")
	rest, onTG := strings.CutPrefix(rest, "tg:")
	name, value, ok := strings.Cut(rest, "=")
	if !ok || name == "" || value == "" {
		return fmt.Errorf("%q is not NAME=VALUE, such as \"coalesce rx-usecs=5\"", s)
	}
	x := wire.Setting{Name: name, Value: value}
	if !onTG {
		d.sut = append(d.sut, x)
	}
	if !onSUT {
		d.tg = append(d.tg, x)
	}
	return nil
}

func (d *deviceSettings) Type() string { return "[sut:|tg:]NAME=VALUE" }

// AddFlags defines the flags, but for --mtu where the command has its own.
func (s *Settings) AddFlags(cmd *cobra.Command, mtu bool) {
	f := cmd.Flags()
	if mtu {
		f.IntVar(&s.MTU, "mtu", 0, "set both interfaces' MTU for the run, bytes (0: as found)")
	}
	f.Var(&s.gro, "gro", "set the receiver's GRO for the run")
	f.Var(&s.hwGRO, "hw-gro", "set the receiver's hardware GRO (rx-gro-hw) for the run")
	f.Var(&s.bigTCP, "big-tcp", "set the largest GSO and GRO packet of both interfaces, IPv4 and IPv6 (off: 65536)")
	f.IntVar(&s.rxRing, "rx-ring", 0, "set the RX descriptors per queue of both interfaces")
	f.IntVar(&s.txRing, "tx-ring", 0, "set the TX descriptors per queue of both interfaces")
	f.IntVar(&s.channels, "channels", 0, "set the number of queues of both interfaces")
	f.Var(&s.device, "set", `set anything else of the interfaces, such as "coalesce rx-usecs=5" (repeatable; docs/settings.md)`)
	f.StringVar(&s.profile, "sysctl-profile", "", "set a group of sysctls on both hosts: "+tune.Reference.Name)
	f.IntVar(&s.hugePages, "huge-pages", 0, "set the number of huge pages of both hosts")
	f.StringVar(&s.governor, "governor", "", "set the frequency governor of all CPUs of both hosts, such as performance")
	f.Var(&s.maxIdle, "max-idle-us", "keep the CPUs of both hosts out of idle states that take longer to leave, microseconds")
	f.BoolVar(&s.stopBalance, "stop-irqbalance", false, "stop irqbalance on both hosts for the run")
	cmd.RegisterFlagCompletionFunc("sysctl-profile", cobra.FixedCompletions([]string{tune.Reference.Name}, cobra.ShellCompDirectiveNoFileComp))
	for _, name := range []string{"gro", "hw-gro"} {
		cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions([]string{"on", "off"}, cobra.ShellCompDirectiveNoFileComp))
	}
}

// Cell puts those that are factors of a cell into it.
func (s *Settings) Cell(c *results.Cell) {
	c.GRO, c.HWGRO = s.gro.v, s.hwGRO.v
	c.BigTCPBytes, c.TGBigTCPBytes = int(s.bigTCP.bytes), int(s.bigTCP.bytes)
}

// Ends are the other settings of both ends; the factors come with the cell.
func (s *Settings) Ends() (sut, tg wire.Settings) {
	sut = wire.Settings{MTU: s.MTU, RXRing: s.rxRing, TXRing: s.txRing, Channels: s.channels, SysctlProfile: s.profile, Governor: s.governor,
		HugePages: s.hugePages, MaxIdleUs: s.maxIdle.v, StopBalance: s.stopBalance}
	tg = sut
	sut.Device, tg.Device = s.device.sut, s.device.tg
	return sut, tg
}

// Check refuses what no host could have.
func (s *Settings) Check() error {
	if _, ok := tune.Profiles[s.profile]; !ok && s.profile != "" {
		return Usagef("--sysctl-profile %q: there is %s", s.profile, tune.Reference.Name)
	}
	sut, tg := s.Ends()
	sut.BigTCPBytes = int(s.bigTCP.bytes)
	for _, x := range []wire.Settings{sut, tg} {
		x.Dev = "any"
		if err := x.Check(); err != nil {
			return UsageError(err)
		}
	}
	return nil
}
