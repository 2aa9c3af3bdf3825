// SPDX-License-Identifier: MIT

// Package driver holds what is known of the drivers of NICs beyond what they say themselves: one
// file a driver, with all facts and hooks of it. Everybody else asks here, and never compares the
// name of a driver. Facts were read in the drivers of Linux [ReadIn]; a comment names the
// function.
//
// The package stands below machine/nic: hooks take plain values.
package driver

import (
	"slices"
	"strings"
)

// ReadIn is the kernel whose drivers were read.
const ReadIn = "7.3.4"

// Driver is what is known of one. Of a driver in no file of this package that is its name.
type Driver struct {
	Name string   // as ETHTOOL_GDRVINFO gives it
	NIC  string   // what it is for, in people's words; "": the driver is in no file of this package
	Labs []string // personalities of the lab's soft NIC that imitate it

	Memory
	Splitting
	Rings
	Steering
	Interrupts

	// CountsNow: the interface's counters are of the time when they are read. Those of others come
	// from the NIC now and then, once a second or when they were last read (bnxt_en:
	// stats-block-usecs; ice: its service task; mlx5_core: rx_missed_errors, by a work of its own).
	CountsNow bool

	// CopiesSent: payload that was sent without a copy is copied when it is delivered.
	// CountsUnsent: tx_dropped counts each frame that it dropped instead of sending it.
	CopiesSent, CountsUnsent bool

	HWGRO      string   // rx-gro-hw; "": no; "?": not looked at
	Channels   string   // how queues are counted (ethtool -L); "": combined
	Notes      []string // what surprises
	Impossible []string // combinations that it cannot do

	// NoHWGRO says why rx-gro-hw does not come on, where the driver has a reason of its own, and
	// KeepsHWGRO why it does not go off; nil, or without words: nothing is known. WatchHWGRO is
	// where to look when nothing else is known either.
	NoHWGRO, KeepsHWGRO func(Setup) Told
	WatchHWGRO          string

	// resets are the settings that restart all queues, as [Driver.Resets] takes them; a word
	// alone stands for all settings that begin with it.
	resets []string
	// forgets are settings of a queue that the driver forgets when the settings of forgetsBy
	// restart its queues.
	forgets, forgetsBy []string
}

// Memory is what is known of queues that take memory of others, and of sending from it.
type Memory struct {
	Receives   string // the kernel since which queues take memory providers (zcrx, devmem); "": they do not
	ReceivesIf string // what they take them under
	Format     string // the format of queues that alone takes them; "": any
	Sends      string // the kernel since which it sends from a dmabuf (netmem_tx); "": it does not

	Buffers       string // longest receive buffers, in words; "": a page
	LongestBuffer int    // the same in bytes; 0: not known

	// Lent: its queues are another interface's, which alone says whether headers are split.
	Lent bool
	// NotVirtual says why virtual functions cannot; "": they can, or there are none.
	NotVirtual string
	// NotQueue0 says why queue 0 is refused, with ERANGE; "": it is not.
	NotQueue0 string
	// BindTells is why what the kernel answers beforehand is not the last word. TPHTells: it is,
	// where the driver has switched TPH on.
	BindTells Told
	TPHTells  bool

	// NotRestarted says why the driver may have refused to restart a queue with other memory
	// (EOPNOTSUPP without a text), and Blocked what is set with which it certainly would; nil, or
	// without words: nothing is known.
	NotRestarted, Blocked func(Setup) Told
}

// Splitting is what is known of header split.
type Splitting struct {
	Split     string // of headers from payload; "": no
	Threshold string // hds-thresh; "": it has none
	SplitBy   string // the command that brings header split on, where the usual one does not

	OffIsAuto       bool // it refuses off, and splits nothing by itself when left to itself (auto)
	AutoIsOn        bool // left to itself it splits
	SplitNeedsHWGRO bool // header split needs rx-gro-hw

	SplitCounters *SplitCounters // nil: it has none
}

// SplitCounters are the driver's own of packets whose headers it split off, as ethtool -S names
// them, with a queue's number at *: Share gives them as a share of all; false: there were none.
type SplitCounters struct {
	Names []string
	Share func(n []uint64) (share float64, ok bool)
}

func ratio(a, b uint64) (float64, bool) { return float64(a) / float64(max(b, 1)), b > 0 }

// Rings is what is known of the lengths of rings.
type Rings struct {
	// CutRX is a length that the RX ring is cut to without an error, and CutRXWhy why; 0: none.
	CutRX    int
	CutRXWhy string
	// payload follows how the driver fills the ring that payload goes to, at an MTU, with buffers
	// of bufLen bytes; ok is false where the ring is as long as it is told to be. nil: so it is.
	Payload func(r Sizes, mtu, bufLen int) (p payload, ok bool)
}

// Sizes are what ethtool -g shows: descriptors, and the bytes of receive buffers.
type Sizes struct{ RX, RXJumbo, RXBufLen int }

// payload is the ring of an RX queue whose buffers payload is written into.
type payload struct {
	Buffers int    // of the length asked for
	Param   string // by which it is sized: rx, rx-jumbo
	Entries int    // of that
}

// PageBytes is the page of the machines whose drivers these are.
const PageBytes = 4096

// Steering is what is known of rules and of RSS.
type Steering struct {
	Rules         string // which flows rules can be for, and since when; "": not looked at
	Place         string // who picks a rule's place in the table; "": not looked at
	OnlyIPv4Rules bool   // it refuses rules for IPv6
	Contexts      string // RSS contexts beside the table, how many and under what; "": none
	// NoRules says why ntuple does not come on; nil: nothing is known.
	NoRules func(Setup) Told
	// HidesRSS: without rx-hashing the table reads as zeros, and is kept all the same.
	HidesRSS bool
	// RulesHoldChannels: the number of channels cannot be changed while there is any rule.
	RulesHoldChannels bool
	// LosesRules: when all queues are restarted, rules stay listed and apply no longer.
	LosesRules bool
}

// Interrupts is what is known of them.
type Interrupts struct {
	Untold bool // napi-get does not tell them
	// Unsorted: after the restart of one queue its NAPI instances are in no order of their
	// numbers, of which a list of all (a dump of napi-get) warns in the kernel's log.
	Unsorted bool
	Virtual  bool // there are none
	// IRQCounter is the driver's own count of a queue's interrupts, as ethtool -S names it, where
	// the kernel has none; "": it has none.
	IRQCounter string
	// TXFollows: moderation of TX is that of RX, and takes no other value, unless either has
	// interrupts of its own.
	TXFollows bool
}

// Setup is what drivers go by: what is on, and what is set, of an interface.
type Setup struct {
	Dev    string
	Queues int             // RX
	Flags  map[string]bool // the driver's own (ethtool --show-priv-flags)
	Split  bool            // of headers, requested or on
	GROOff bool            // rx-gro is off
	HTB    bool            // a qdisc whose work the NIC does
}

// Told is why something is so, and what to do about it. Without words nothing is known.
type Told struct{ Why, Fix string }

// ask calls a hook, if there is one.
func ask(hook func(Setup) Told, s Setup) Told {
	if hook == nil {
		return Told{}
	}
	return hook(s)
}

// WhyNoRules explains why ntuple does not come on; without words: nothing is known.
func (d Driver) WhyNoRules(s Setup) Told { return ask(d.NoRules, s) }

// WhyNoHWGRO explains why rx-gro-hw does not come on, where that is the driver's own reason.
func (d Driver) WhyNoHWGRO(s Setup) Told { return ask(d.NoHWGRO, s) }

// WhyHWGROStays explains why rx-gro-hw does not go off.
func (d Driver) WhyHWGROStays(s Setup) Told { return ask(d.KeepsHWGRO, s) }

// RestartBlocked names what is on, or set, with which the driver would not restart a queue with
// other memory; without words: nothing.
func (d Driver) RestartBlocked(s Setup) Told { return ask(d.Blocked, s) }

// WhyNotRestarted explains why the driver may have refused to restart a queue with other memory,
// where the errno is EOPNOTSUPP and the kernel has no text.
func (d Driver) WhyNotRestarted(s Setup) Told {
	if t := d.RestartBlocked(s); t.Why != "" {
		return t
	}
	return ask(d.NotRestarted, s)
}

// PayloadRing returns the ring of an RX queue that payload goes to. A ring of jumbo buffers, where
// one is told, is it, unless the driver says otherwise.
func (d Driver) PayloadRing(r Sizes, mtu, bufLen int) payload {
	if d.Payload != nil {
		if p, ok := d.Payload(r, mtu, bufLen); ok {
			return p
		}
	}
	if r.RXJumbo > 0 {
		return payload{r.RXJumbo, "rx-jumbo", r.RXJumbo}
	}
	return payload{r.RX, "rx", r.RX}
}

// Known reports whether a file of this package is about the driver.
func (d Driver) Known() bool { return d.NIC != "" }

// Of returns what is known of a driver by the name that ETHTOOL_GDRVINFO gives, or by the name of
// one that the lab's soft NIC imitates, in brackets. Of others nothing but the name is known.
func Of(name string) Driver {
	name = Model(name)
	if i := slices.IndexFunc(All, func(d *Driver) bool { return d.Name == name }); i >= 0 {
		return *All[i]
	}
	return Driver{Name: name}
}

// Own returns what is known of a driver itself, whomever it imitates.
func Own(name string) Driver {
	if IsLab(name) {
		return softNIC
	}
	return Of(name)
}

// IsLab reports whether a driver is that of the lab's soft NIC.
func IsLab(name string) bool {
	return name == softNIC.Name || strings.HasPrefix(name, softNIC.Name+"(")
}

// Model returns the name of the driver whose ways one has: the lab's soft NIC can imitate others,
// and says so in brackets. "": an imitation that this program does not know.
func Model(name string) string {
	inner, ok := strings.CutPrefix(name, softNIC.Name+"(")
	if !ok {
		return name
	}
	lab := strings.TrimSuffix(inner, ")")
	if i := slices.IndexFunc(All, func(d *Driver) bool { return slices.Contains(d.Labs, lab) }); i >= 0 {
		return All[i].Name
	}
	return ""
}

// Imitated returns the names of the drivers whose control plane the lab's soft NIC can imitate.
func Imitated() (out []string) {
	for _, d := range All {
		out = append(out, d.Labs...)
	}
	return out
}

// unknownResets are the settings that restart all queues of most drivers.
var unknownResets = []string{"channels", "ring", "rx-buf-len", "header-split"}

// Resets reports whether changing a setting of an interface ("channels", "ring rx", "rx-buf-len",
// "mtu", "header-split", "feature rx-gro-hw", "rss", ...: the names of leases) makes the driver
// stop and start all its queues, not one: flows pause, the carrier may be gone for a while, and
// with some drivers rules that are listed no longer apply. For a driver in no file of this package
// the answer is what most do.
func (d Driver) Resets(setting string) bool {
	list := d.resets
	if !d.Known() {
		list = unknownResets
	}
	word, _, _ := strings.Cut(setting, " ")
	return slices.Contains(list, setting) || slices.Contains(list, word)
}

// ResetBy returns the settings that restart all queues, as [Driver.Resets] takes them: of a word
// alone all settings that begin with it do.
func (d Driver) ResetBy() []string { return slices.Clone(d.resets) }

// Restart stands, among the settings that make a driver forget others, for the restart of one queue
// with other memory: it forgets what is set of that queue.
const Restart = "queue restart"

// Forgets returns the first words of the settings of queues ("napi") that the driver forgets when
// a setting is set, even to what it reads already, or by a [Restart].
func (d Driver) Forgets(setting string) []string {
	if !slices.Contains(d.forgetsBy, setting) {
		return nil
	}
	return slices.Clone(d.forgets)
}
