package nic

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/zcbench/zcbench/setting"
	"golang.org/x/sys/unix"
)

// Setting finds a setting by name:
//
//	mtu, gso-max-size, gro-max-size, gso-ipv4-max-size, gro-ipv4-max-size    bytes
//	channels              rx N tx N other N combined N
//	ring rx|tx            descriptors
//	feature NAME          on, off; "wanted on, is off" when the driver does not follow
//	header-split          tcp-data-split auto|off|on[, hds-thresh BYTES]
//	coalesce NAME         a number, times in microseconds
//	napi QUEUE            defer-hard-irqs N, gro-flush-timeout NS, irq-suspend-timeout NS[, threaded off|on|busy-poll]
//	irq QUEUE             CPU list of the RX queue's interrupt
//	interrupt N           CPU list of interrupt N, also one that no RX queue tells of, see [Device.IRQs]
//	rps QUEUE, xps QUEUE  CPU mask, hexadecimal
//	rss                   default, or the queue of each entry of the indirection table
//	rss-context Q,Q...    present, absent: an RSS context over these queues in turn
//	rule REMOTE > LOCAL queue N    present, absent: an ntuple rule for one TCP flow
func (d *Device) Setting(name string) (setting.Setting, error) {
	word, arg, _ := strings.Cut(name, " ")
	s := setting.Setting{Name: name}
	var err error
	switch word {
	case "channels":
		s.Get = text(d.Channels)
		s.Set = parsed(parseChannels, d.SetChannels)
	case "ring":
		err = d.ringSetting(&s, arg)
	case "feature":
		s.Get = func() (string, error) {
			f, err := d.Feature(arg)
			return f.String(), err
		}
		s.Set = func(v string) error { return d.setFeatureText(arg, v) }
	case "header-split":
		s.Get = text(d.HeaderSplit)
		s.Set = parsed(parseSplit, d.restoreSplit)
	case "coalesce":
		s.Get = func() (string, error) { return d.coalescingText(arg) }
		s.Set = parsed(parse32, func(v uint32) error { return d.SetCoalescing(arg, v) })
	case "interrupt":
		err = interruptSetting(&s, arg)
	case "napi", "irq", "rps", "xps":
		err = d.queueSetting(&s, word, arg)
	case "rss":
		s.Get = d.rssText
		s.Set = d.setRSSText
	case "rss-context":
		s.Get, s.Set, err = d.contextSetting(arg)
	case "rule":
		err = d.ruleSetting(&s, arg)
	default:
		if _, ok := linkNumbers[name]; !ok {
			return s, fmt.Errorf("unknown setting %q of an interface", name)
		}
		s.Get = func() (string, error) {
			l, err := d.Link()
			return strconv.Itoa(linkNumbers[name].get(l)), err
		}
		s.Set = parsed(strconv.Atoi, func(v int) error { return d.setLink(name, v) })
	}
	return s, err
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

func parse32(s string) (uint32, error) {
	v, err := strconv.ParseUint(s, 10, 32)
	return uint32(v), err
}

func (d *Device) ringSetting(s *setting.Setting, which string) error {
	if which != "rx" && which != "tx" {
		return fmt.Errorf("unknown ring %q: rx or tx", which)
	}
	s.Get = func() (string, error) {
		r, err := d.Rings()
		if which == "tx" {
			r.RX = r.TX
		}
		return strconv.Itoa(r.RX), err
	}
	s.Set = parsed(strconv.Atoi, func(n int) error {
		if which == "tx" {
			return d.SetRings(0, n)
		}
		return d.SetRings(n, 0)
	})
	return nil
}

// setFeatureText asks for what a text of [Feature] wanted.
func (d *Device) setFeatureText(name, v string) error {
	switch v {
	case "on", "wanted on, is off":
		return d.SetFeature(name, true)
	case "off", "wanted off, is on":
		return d.SetFeature(name, false)
	}
	return fmt.Errorf("feature %s: %q is not on or off", name, v)
}

// restoreSplit sets header split. Not every driver takes off, where auto means
// the same (bnxt).
func (d *Device) restoreSplit(h HeaderSplit) error {
	err := d.SetHeaderSplit(h)
	if e, ok := err.(*Error); ok && h.State == SplitOff && e.Err == unix.EINVAL {
		h.State = SplitUnknown
		if d.SetHeaderSplit(h) == nil {
			return nil
		}
	}
	return err
}

func (d *Device) coalescingText(name string) (string, error) {
	all, err := d.Coalescing()
	if err != nil {
		return "", err
	}
	v, ok := all[name]
	if !ok {
		return "", failed(d.op("read coalescing %s", name), unix.EOPNOTSUPP, map[unix.Errno]string{
			0: "the driver does not have this parameter: ethtool -c " + d.Name + " shows those it has"})
	}
	return strconv.FormatUint(uint64(v), 10), nil
}

// queueSetting is what belongs to one queue.
func (d *Device) queueSetting(s *setting.Setting, word, arg string) error {
	queue, err := strconv.Atoi(arg)
	if err != nil || queue < 0 {
		return fmt.Errorf("setting %s %q: want the number of a queue", word, arg)
	}
	switch word {
	case "napi":
		s.Get = func() (string, error) {
			n, err := d.NAPIOf(queue)
			return n.NAPISettings.String(), err
		}
		s.Set = parsed(ParseNAPISettings, func(v NAPISettings) error {
			n, err := d.NAPIOf(queue)
			if err != nil {
				return err
			}
			return d.SetNAPI(n.ID, v)
		})
	case "irq":
		s.Get = func() (string, error) {
			irq, err := d.irqOf(queue)
			if err != nil {
				return "", err
			}
			return IRQAffinity(irq)
		}
		s.Set = func(v string) error {
			irq, err := d.irqOf(queue)
			if err != nil {
				return err
			}
			return SetIRQAffinity(irq, v)
		}
	default:
		file := fmt.Sprintf("%cx-%d/%s_cpus", map[string]rune{"rps": 'r', "xps": 't'}[word], queue, word)
		s.Get = func() (string, error) { return d.readQueueFile(file) }
		s.Set = func(v string) error { return d.writeQueueFile(file, v) }
		s.Canon = canonicalMask
	}
	return nil
}

func interruptSetting(s *setting.Setting, arg string) error {
	irq, err := strconv.Atoi(arg)
	if err != nil || irq < 0 {
		return fmt.Errorf("setting interrupt %q: want the number of an interrupt", arg)
	}
	s.Get = func() (string, error) { return IRQAffinity(irq) }
	s.Set = func(v string) error { return SetIRQAffinity(irq, v) }
	return nil
}

// rssText is the indirection table. One that is the kernel's default is called
// so: set as a table it would no longer follow the number of queues.
func (d *Device) rssText() (string, error) {
	table, err := d.Indirection()
	if err != nil {
		return "", err
	}
	queues, err := d.Queues()
	if err != nil {
		return "", err
	}
	if isDefault(table, len(queues)) {
		return rssDefault, nil
	}
	return tableText(table), nil
}

const rssDefault = "default"

func tableText(table []uint32) string {
	return strings.Trim(fmt.Sprint(table), "[]")
}

func (d *Device) setRSSText(v string) error {
	if v == rssDefault {
		return d.SetIndirection(nil)
	}
	table, err := parseTable(v)
	if err != nil {
		return err
	}
	return d.SetIndirection(table)
}

func parseTable(v string) (table []uint32, err error) {
	for _, f := range strings.Fields(v) {
		q, err := parse32(f)
		if err != nil {
			return nil, fmt.Errorf("RSS table: %w", err)
		}
		table = append(table, q)
	}
	if len(table) == 0 || len(table) > maxIndirection {
		return nil, fmt.Errorf("RSS table of %d entries", len(table))
	}
	return table, nil
}

// The values of a rule's setting.
const (
	present = "present"
	absent  = "absent"
)

// RuleName is the name of the setting that is an ntuple rule for the TCP flow
// from remote to local, of this host, to an RX queue.
func RuleName(local, remote netip.AddrPort, queue int) string {
	return fmt.Sprintf("rule %v > %v queue %d", remote, local, queue)
}

func parseRule(s string) (local, remote netip.AddrPort, queue int, err error) {
	var from, to string
	if _, err := fmt.Sscanf(s, "%s > %s queue %d", &from, &to, &queue); err != nil {
		return local, remote, 0, fmt.Errorf("rule %q: want REMOTE > LOCAL queue N", s)
	}
	if remote, err = netip.ParseAddrPort(from); err == nil {
		local, err = netip.ParseAddrPort(to)
	}
	if err == nil && (queue < 0 || local.Addr().Unmap().Is4() != remote.Addr().Unmap().Is4() || "rule "+s != RuleName(local, remote, queue)) {
		err = fmt.Errorf("rule %q: want REMOTE > LOCAL queue N", s)
	}
	return local, remote, queue, err
}

func (d *Device) ruleSetting(s *setting.Setting, arg string) error {
	local, remote, queue, err := parseRule(arg)
	if err != nil {
		return err
	}
	s.Get = func() (string, error) {
		_, ok, err := d.FindRule(local, remote, queue)
		if ok {
			return present, err
		}
		return absent, err
	}
	s.Set = func(v string) error {
		if v == present {
			_, err := d.Steer(local, remote, queue)
			return err
		}
		at, ok, err := d.FindRule(local, remote, queue)
		if err != nil || !ok {
			return err
		}
		return d.DeleteRule(at)
	}
	return nil
}
