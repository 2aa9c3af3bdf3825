// SPDX-License-Identifier: MIT

package nic

import (
	"fmt"
	"maps"
	"math"
	"net/netip"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/lazy"
	"github.com/zcbench/zcbench/internal/remedy"
	"github.com/zcbench/zcbench/machine/setting"
	"golang.org/x/sys/unix"
)

// Setting finds a setting by name. Its texts are, as they read back:
//
//	mtu, gso-max-size, gro-max-size, gso-ipv4-max-size, gro-ipv4-max-size    bytes
//	channels              rx N tx N other N combined N
//	ring rx|tx|rx-jumbo   descriptors
//	rx-buf-len            bytes of a receive buffer
//	feature NAME          on, off; "wanted on, is off" when the driver does not follow
//	header-split          tcp-data-split auto|off|on[, hds-thresh BYTES]
//	coalesce NAME         a number, times in microseconds
//	napi QUEUE            defer-hard-irqs N, gro-flush-timeout NS, irq-suspend-timeout NS[, threaded off|on|busy-poll]
//	sysfs FILE            a number in /sys/class/net/DEV/FILE: napi_defer_hard_irqs, gro_flush_timeout or threaded
//	irq QUEUE             CPU list of the RX queue's interrupt
//	interrupt N           CPU list of interrupt N of the interface's device, see [Device.IRQs]
//	rps QUEUE, xps QUEUE  CPU mask, hexadecimal
//	rss                   default, or the queue of each entry of the indirection table
//	rss-context Q,Q...    present, absent: an RSS context over these queues in turn
//	netkit QUEUE DEV /NAMESPACE    present, absent: the RX queue is leased to netkit interface DEV there
//	rule REMOTE > LOCAL queue N    present, absent: an ntuple rule for one TCP flow
//	rule any > LOCAL context Q,Q...    present, absent: one for all TCP flows to LOCAL, into that RSS context
//	pktgen CPU            present, absent: the kernel's generator pktgen has the interface there
func (d *Device) Setting(name string) (setting.Setting, error) {
	word, arg, _ := strings.Cut(name, " ")
	s := setting.Setting{Name: name}
	var err error
	switch word {
	case "channels", "header-split", "rss", "rx-buf-len":
		if name != word {
			return s, fmt.Errorf("setting %.80q: %s takes no argument", name, word)
		}
	case "feature":
		if !featureName().MatchString(arg) {
			return s, fmt.Errorf("setting %.80q: want the kernel's name of a feature, such as rx-gro", name)
		}
	}
	switch word {
	case "channels":
		s.Get, s.Canon = text(d.Channels), rewritten(parseChannels)
		s.Set = parsed(parseChannels, d.SetChannels)
	case "ring":
		err = d.ringSetting(&s, arg)
	case "rx-buf-len":
		d.rxBufLenSetting(&s)
	case "feature":
		s.Get = func() (string, error) {
			f, err := d.Feature(arg)
			return f.String(), err
		}
		s.Set = func(v string) error { return d.setFeatureText(arg, v) }
		s.Canon = oneOf(append([]string{"on", "off"}, unfollowed...)...)
		s.Why = func(want, _ string) (why, fix string) { return d.circumstances().whyFeature(arg, want == "on") }
	case "header-split":
		d.splitSetting(&s)
	case "coalesce":
		err = d.coalesceSetting(&s, arg)
	case "interrupt":
		err = d.interruptSetting(&s, arg)
	case "napi", "irq", "rps", "xps":
		err = d.queueSetting(&s, word, arg)
	case "sysfs":
		err = d.sysSetting(&s, arg)
	case "rss":
		d.rssSetting(&s)
	case "rss-context":
		err = d.contextSetting(&s, arg)
	case "netkit":
		err = d.leaseSetting(&s, arg)
	case "rule":
		err = d.ruleSetting(&s, arg)
	case "pktgen":
		err = d.pktgenSetting(&s, arg)
	default:
		if _, ok := linkNumbers[name]; !ok {
			return s, fmt.Errorf("unknown setting %.80q of an interface", name)
		}
		s.Get = func() (string, error) {
			l, err := d.Link()
			return strconv.Itoa(linkNumbers[name].get(l)), err
		}
		s.Set = parsed(strconv.Atoi, func(v int) error { return d.setLink(name, v) })
		s.Canon = number(1)
	}
	return s, err
}

// featureName is what the kernel can call a feature (ETH_GSTRING_LEN is 32).
var featureName = lazy.Regexp(`^[a-z0-9_-]{1,31}$`)

// CheckSetting refuses a setting that no interface has, and a value that it could
// not have, without an interface to look at.
func CheckSetting(name, value string) error {
	s, err := new(Device).Setting(name)
	if err == nil {
		_, err = s.Canonical(value)
	}
	return err
}

// text makes a getter of a reader.
func text[T fmt.Stringer](f func() (T, error)) func() (string, error) {
	return func() (string, error) {
		v, err := f()
		return v.String(), err
	}
}

// parsed makes a setter of a parser and a writer.
func parsed[T any](parse func(string) (T, error), set func(T) error) func(string) error {
	return func(s string) error {
		v, err := parse(s)
		if err != nil {
			return err
		}
		return set(v)
	}
}

// rewritten makes texts canonical that a parser takes: its value writes itself.
func rewritten[T fmt.Stringer](parse func(string) (T, error)) func(string) (string, error) {
	return func(s string) (string, error) {
		v, err := parse(s)
		return v.String(), err
	}
}

// number makes whole numbers canonical that are no less than least.
func number(least uint32) func(string) (string, error) {
	return func(s string) (string, error) {
		v, err := strconv.ParseUint(s, 10, 31)
		if err != nil || v < uint64(least) {
			return "", fmt.Errorf("%q is not a whole number from %d to 2147483647", s, least)
		}
		return strconv.FormatUint(v, 10), nil
	}
}

// oneOf takes some words as they are.
func oneOf(words ...string) func(string) (string, error) {
	return func(s string) (string, error) {
		if !slices.Contains(words, s) {
			return "", fmt.Errorf("%q is not %s", s, strings.Join(words[:2], " or "))
		}
		return s, nil
	}
}

func parse32(s string) (uint32, error) {
	v, err := strconv.ParseUint(s, 10, 32)
	return uint32(v), err
}

func (d *Device) ringSetting(s *setting.Setting, which string) error {
	if ringAttrs[which] == 0 {
		return fmt.Errorf("unknown ring %q: rx, tx or rx-jumbo", which)
	}
	s.Get = func() (string, error) {
		r, err := d.Rings()
		return strconv.Itoa(r.of(which)), err
	}
	s.Set = parsed(strconv.Atoi, func(n int) error { return d.SetRing(which, n) })
	s.Why = func(want, now string) (why, fix string) {
		w, _ := strconv.Atoi(want) // both were read as numbers before
		n, _ := strconv.Atoi(now)
		return whyRing(d.ways(), which, w, n)
	}
	s.Canon = number(1)
	return nil
}

// unfollowed are the texts of a feature that the driver does not follow.
var unfollowed = []string{"wanted on, is off", "wanted off, is on"}

// setFeatureText asks for what a text of [Feature] wanted.
func (d *Device) setFeatureText(name, v string) error {
	switch v {
	case "on", unfollowed[0]:
		return d.SetFeature(name, true)
	case "off", unfollowed[1]:
		return d.SetFeature(name, false)
	}
	return fmt.Errorf("feature %s: %q is not on or off", name, v)
}

// queueSetting makes a setting of what belongs to one queue.
func (d *Device) queueSetting(s *setting.Setting, word, arg string) error {
	queue, err := strconv.Atoi(arg)
	if err != nil || queue < 0 || strconv.Itoa(queue) != arg {
		return fmt.Errorf("setting %s %q: want the number of a queue", word, arg)
	}
	switch word {
	case "napi":
		d.napiSetting(s, queue)
	case "irq":
		s.Get = func() (string, error) {
			irq, err := d.IRQOf(queue)
			if err != nil {
				return "", err
			}
			return IRQAffinity(irq)
		}
		s.Set = func(v string) error {
			irq, err := d.IRQOf(queue)
			if err != nil {
				return err
			}
			return setIRQAffinity(irq, v)
		}
		s.Canon = canonicalCPUs
	default:
		file := fmt.Sprintf("%cx-%d/%s_cpus", map[string]rune{"rps": 'r', "xps": 't'}[word], queue, word)
		s.Get = func() (string, error) { return d.readQueueFile(file) }
		s.Set = func(v string) error { return d.writeQueueFile(file, v) }
		s.Canon = canonicalMask
	}
	return nil
}

// sysFiles are the files of an interface that are for all its NAPI instances, with the largest
// number of each.
var sysFiles = map[string]int{"napi_defer_hard_irqs": math.MaxInt32, "gro_flush_timeout": math.MaxInt32, "threaded": 1}

// sysSetting makes a setting of all NAPI instances. A kernel that sets them one by one
// ([Device.SetNAPI]) overwrites by it what each had, which no lease of it would bring back: it is
// refused there.
func (d *Device) sysSetting(s *setting.Setting, file string) error {
	most, ok := sysFiles[file]
	if !ok {
		return fmt.Errorf("setting %.80q: want one of the files %s", s.Name,
			strings.Join(slices.Sorted(maps.Keys(sysFiles)), ", "))
	}
	s.Get = func() (string, error) { return d.SysFile(file) }
	s.Set = func(v string) error {
		if d.setsEach(file) {
			return &fault.Error{Op: d.op("set %s of all NAPI instances: this kernel sets them one by one", file),
				Err: unix.EINVAL, How: "use the setting napi QUEUE, of each queue, which puts back what each had"}
		}
		root, err := d.sysRoot()
		if err != nil {
			return err
		}
		return writeFile(remedy.FileSys, filepath.Join(root, "class/net", d.Name, file), v, d.Name)
	}
	s.Canon = func(v string) (string, error) {
		n, err := strconv.ParseUint(v, 10, 31)
		if err != nil || n > uint64(most) {
			return "", fmt.Errorf("%q is not a whole number from 0 to %d", v, most)
		}
		return strconv.FormatUint(n, 10), nil
	}
	return nil
}

func (d *Device) interruptSetting(s *setting.Setting, arg string) error {
	irq, err := strconv.Atoi(arg)
	if err != nil || irq < 0 || strconv.Itoa(irq) != arg {
		return fmt.Errorf("setting interrupt %q: want the number of an interrupt", arg)
	}
	s.Get = func() (string, error) {
		if err := d.checkIRQ(irq); err != nil {
			return "", err
		}
		return IRQAffinity(irq)
	}
	s.Set = func(v string) error {
		if err := d.checkIRQ(irq); err != nil {
			return err
		}
		return setIRQAffinity(irq, v)
	}
	s.Canon = canonicalCPUs
	return nil
}

// The values of a rule's setting.
const (
	present = "present"
	absent  = "absent"
)

// RuleName formats the name of the setting that is an ntuple rule for the TCP flow from remote to
// local, of this host, to an RX queue.
func RuleName(local, remote netip.AddrPort, queue int) string {
	return "rule " + steering{local: local, remote: remote, queue: queue}.String()
}

// PortRuleName formats the name of the setting that is an ntuple rule for all TCP flows to local,
// of this host, into the RSS context over some queues in turn, which [ContextName] has made.
func PortRuleName(local netip.AddrPort, queues []uint32) string {
	return "rule " + steering{local: local, context: queues}.String()
}

func parseRule(s string) (r steering, err error) {
	var from, to, word, at string
	wrong := fmt.Errorf("rule %q: want REMOTE > LOCAL queue N, any > LOCAL queue N, or any > LOCAL context Q,Q...", s)
	if _, err := fmt.Sscanf(s, "%s > %s %s %s", &from, &to, &word, &at); err != nil {
		return r, wrong
	}
	if r.local, err = netip.ParseAddrPort(to); err != nil {
		return r, err
	}
	if from != "any" {
		if r.remote, err = netip.ParseAddrPort(from); err != nil {
			return r, err
		}
	}
	switch word {
	case "queue":
		r.queue, err = strconv.Atoi(at)
	case "context":
		r.context, err = parseQueues(at)
	}
	// one flow to a queue, or all to a queue or a context
	if err != nil || r.queue < 0 || from != "any" && word == "context" || r.String() != s ||
		r.remote.IsValid() && r.local.Addr().Unmap().Is4() != r.remote.Addr().Unmap().Is4() {
		err = wrong
	}
	return r, err
}

func (d *Device) ruleSetting(s *setting.Setting, arg string) error {
	r, err := parseRule(arg)
	if err != nil {
		return err
	}
	hold(s, &placedRule{d, r})
	return nil
}
