// SPDX-License-Identifier: MIT

package tune

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/zcbench/zcbench/bench"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/machine/driver"
	"github.com/zcbench/zcbench/machine/survey"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/plan/modes"
	"github.com/zcbench/zcbench/zc/dmabuf"
)

// usual are the options that are tried where no file names any. Of each, levels returns those
// beside the default, or why there are none. What a kernel can do is not told by its release: it is
// tried.
var usual = []struct {
	option string
	levels func(h *bench.Found, c *plan.Cell) (levels []string, why string)
}{
	{"rx_ring", rings},
	{"gro", feature("rx-gro")},
	{"hw_gro", feature("rx-gro-hw")},
	{"header_split", split},
	{"big_tcp", bigTCP},
	{"set", coalescing},
	{"cpu_layout", fixed("1cpu", "2cpu")},
	{"busy_poll", fixed("50us")},
	{"message", fixed("64K", "1M")},
	{"read", fixed("64K", "1M")},
	{"gather", fixed("50us")},
	{"token_batch", fixed("64", "1024")},
	{"rx_buf_len", buffers},
	{"area", areas},
}

// Usual gives the spaces what their modes have and these hosts can set, but for what the plan says
// for all cells.
func Usual(all []Space, s *matrix.Spec, h *bench.Found) []Space {
	for i := range all {
		x := &all[i]
		if m := h.Missing(x.Base); m != nil {
			x.Cannot = append(x.Cannot, Cannot{x.Name, "", m.Reason, m.Fix})
			continue
		}
		for _, u := range usual {
			o := plan.LookupOption(u.option)
			if !o.Concerns(&x.Base) || o.Raw(&s.All) != "" || o.Raw(&s.SUT.Settings.Host) != "" {
				continue
			}
			levels, why := u.levels(h, &x.Base)
			if why != "" {
				x.Cannot = append(x.Cannot, Cannot{Mode: x.Name, What: u.option, Reason: why})
				continue
			}
			x.add(o, levels, h)
		}
	}
	return all
}

// prepare completes the cells of a mode: one that splits headers has hardware GRO where the driver
// cannot split without, and beside such modes (splits) the others have headers as the NIC was
// found.
func (x *Space) prepare(h *bench.Found, splits bool) {
	o := plan.LookupOption("header_split")
	text, known := h.SUT.Value("nic/header split")
	for i := range len(x.Cells) + 1 {
		c := &x.Base
		if i > 0 {
			c = &x.Cells[i-1]
		}
		if h.Driver.SplitNeedsHWGRO && c.SplitsItself() && c.HWGRO == nil {
			c.HWGRO = new(true)
		}
		if known && splits && c.HeaderSplit == nil && o.Concerns(c) {
			c.HeaderSplit = new(strings.Contains(text, "tcp-data-split on"))
		}
	}
}

// add adds a factor with the levels that the plan does not refuse.
func (x *Space) add(o *plan.Option, levels []string, h *bench.Found) {
	f := Factor{Option: o.Name, Levels: []string{""}}
	for _, text := range levels {
		var v plan.Cell
		if err := o.Set(&v, text); err != nil {
			x.Cannot = append(x.Cannot, Cannot{Mode: x.Name, What: o.Name + "=" + text, Reason: err.Error()})
			continue
		}
		if o.Raw(&v) == o.Raw(&x.Base) {
			continue // it is the default
		}
		f.Levels = append(f.Levels, o.Raw(&v))
		c, at := x.Base, len(f.Levels)-1
		set(&c, &f, at)
		if m := h.Missing(c); m != nil {
			x.Cannot = append(x.Cannot, Cannot{x.Name, f.word(at), m.Reason, m.Fix})
			f.Levels = f.Levels[:at]
		}
	}
	if len(f.Levels) > 1 {
		x.Factors = append(x.Factors, f)
	}
}

func fixed(levels ...string) func(*bench.Found, *plan.Cell) ([]string, string) {
	return func(*bench.Found, *plan.Cell) ([]string, string) { return levels, "" }
}

// number reads a number of a snapshot; 0: it is not there.
func number(s *survey.Snapshot, name string) int {
	text, _ := s.Value(name)
	n, _ := strconv.Atoi(text)
	return n
}

func nic(h *bench.Found) string {
	if h.Dev == "" {
		return "loopback"
	}
	return fmt.Sprintf("%s (%s)", h.Dev, h.Driver.Name)
}

// rings tries a quarter of the ring as it was found, which stays in the caches, and the longest.
func rings(h *bench.Found, _ *plan.Cell) ([]string, string) {
	now, most := number(h.SUT, "nic/ring rx"), number(h.SUT, "nic/ring rx most")
	if now == 0 || most == 0 {
		return nil, nic(h) + " does not tell the lengths of its rings"
	}
	if tg := number(h.TG, "nic/ring rx most"); tg == 0 {
		return nil, "the TG's interface, which gets the same ring, does not tell the lengths of its own"
	} else {
		most = min(most, tg)
	}
	var levels []string
	for _, n := range []int{now / 4, most} {
		if n >= 64 && n <= most && n != now {
			levels = append(levels, strconv.Itoa(n))
		}
	}
	return levels, ""
}

// feature tries the other state of a feature.
func feature(name string) func(*bench.Found, *plan.Cell) ([]string, string) {
	return func(h *bench.Found, _ *plan.Cell) ([]string, string) {
		switch now, _ := h.SUT.Value("nic/feature " + name); now {
		case "on":
			return []string{"false"}, ""
		case "off":
			return []string{"true"}, ""
		case "":
			return nil, nic(h) + " does not tell of its feature " + name
		default:
			return nil, nic(h) + " does not change its feature " + name + ": it is " + now
		}
	}
}

func split(h *bench.Found, c *plan.Cell) ([]string, string) {
	if _, known := h.SUT.Value("nic/header split"); !known {
		return nil, nic(h) + " does not tell of header split"
	}
	return []string{"true", "false"}, ""
}

// bigTCP tries packets of 192 KiB, and plain ones where the host has it on.
func bigTCP(h *bench.Found, _ *plan.Cell) ([]string, string) {
	switch now := number(h.SUT, "nic/gro-max-size"); {
	case now == 0:
		return nil, nic(h) + " does not tell of BIG TCP"
	case now <= plan.PlainTCP: // it is off
		return []string{"192K"}, ""
	}
	return []string{"off", "192K"}, ""
}

// coalescing tries interrupts soon after a packet, and late.
func coalescing(h *bench.Found, _ *plan.Cell) (levels []string, why string) {
	text, known := h.SUT.Value("nic/coalescing rx-usecs")
	if !known {
		return nil, nic(h) + " does not tell of interrupt coalescing (coalesce rx-usecs)"
	}
	adaptive := number(h.SUT, "nic/coalescing adaptive-rx") == 1
	for _, us := range []string{"8", "64"} {
		switch {
		case adaptive:
			levels = append(levels, "sut:coalesce adaptive-rx=0; sut:coalesce rx-usecs="+us)
		case us != text:
			levels = append(levels, "sut:coalesce rx-usecs="+us)
		}
	}
	return levels, ""
}

// buffers tries receive buffers of other lengths than a page.
func buffers(h *bench.Found, _ *plan.Cell) ([]string, string) {
	switch longest := h.Driver.LongestBuffer; {
	case longest == 0:
		return []string{"16K", "32K"}, "" // it is not known what the driver takes
	case longest <= driver.PageBytes:
		return nil, nic(h) + " takes buffers of a page"
	default:
		return []string{"16K", strconv.Itoa(longest)}, ""
	}
}

// areas tries the kinds of memory of this host that take no device.
func areas(_ *bench.Found, c *plan.Cell) (levels []string, why string) {
	m, err := modes.Find(stream.RX, c.RX)
	if err != nil {
		return nil, ""
	}
	usually := dmabuf.Pages
	if m.Has(stream.DMABuf) {
		usually = dmabuf.Udmabuf
	}
	for _, p := range dmabuf.All {
		if p.Name == usually || p.Helper != "" || p.Runs || !dmabuf.Alone(p) || m.Has(stream.DMABuf) &&
			!dmabuf.Exports(p) {
			continue
		}
		levels = append(levels, p.Name)
	}
	return levels, ""
}
