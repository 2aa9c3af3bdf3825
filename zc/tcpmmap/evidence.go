// SPDX-License-Identifier: MIT

package tcpmmap

import (
	"fmt"

	"github.com/zcbench/zcbench/machine/measure"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/machine/nic"
)

// Evidence returns what was mapped, and what kept the kernel from mapping all.
func (r *Receiver) Evidence() stream.Evidence {
	var e stream.Evidence
	figure := func(name, unit string, v uint64) {
		e.Figures = append(e.Figures, stream.Figure{Name: name, Unit: unit, Value: float64(v)})
	}
	figure("tcpmmap_calls", "1", r.stats.calls)
	figure("tcpmmap_unmaps", "1", r.stats.unmaps)
	figure("tcpmmap_recv_calls", "1", r.stats.recvs)
	figure("tcpmmap_mapped_bytes", "bytes", r.stats.mapped)
	figure("tcpmmap_copied_bytes", "bytes", r.stats.copied)
	figure("tcpmmap_window_bytes", "bytes", uint64(len(r.window)))
	e.Figures = append(e.Figures, r.gather.Figures()...)
	if r.conn == nil { // no flow came
		return e
	}
	o := r.observe()
	if o.segment > 0 {
		figure("tcp_rcv_segment_bytes", "bytes", uint64(o.segment))
	}
	if r.stats.copied > 0 {
		e.Why, e.Fix = o.explain(r.stats.mapped > r.stats.copied)
	}
	return e
}

// observed is what decides whether payload fills pages.
type observed struct {
	dev      string // "" where it cannot be told
	link     string // "loopback" or "veth": no hardware; "" for anything else
	split    nic.HeaderSplit
	splitErr error // header split cannot be read
	rings    nic.Rings
	segment  int // payload bytes of the flow's segments, 0 where it cannot be told
	overhead int // bytes of IP and TCP headers of a segment
}

func (r *Receiver) observe() observed {
	o := observed{dev: r.opt.NIC.Dev, overhead: 20 + 20}
	local := r.conn.Local.Addr().Unmap()
	if local.Is6() {
		o.overhead = 40 + 20
	}
	if info, err := unix.GetsockoptTCPInfo(r.conn.FD, unix.IPPROTO_TCP, unix.TCP_INFO); err == nil {
		const timestamps = 1 // TCPI_OPT_TIMESTAMPS of include/uapi/linux/tcp.h
		if o.segment = int(info.Rcv_mss); info.Options&timestamps != 0 {
			o.overhead += 12
		}
	}
	if o.dev == "" {
		o.dev, _ = nic.Having(local)
	}
	d, err := nic.Open(o.dev)
	if err != nil {
		o.splitErr = err
		return o
	}
	defer d.Close()
	o.link = d.Software()
	o.split, o.splitErr = d.HeaderSplit()
	o.rings, _ = d.Rings() // what is not told is not judged
	return o
}

// mtu computes the MTU that gives segments of whole pages.
func (o observed) mtu() int { return pageBytes + o.overhead }

// explain finds why the kernel did not map all, and what to set; mostly is set where it mapped the
// greater part.
func (o observed) explain(mostly bool) (why, fix string) {
	want := fmt.Sprintf("tcp-mmap needs a NIC with header split (ethtool -G DEV tcp-data-split on) and segments "+
		"of whole pages (MTU %d at both ends, or hardware GRO)", o.mtu())
	split := o.link == "" // only hardware has header split
	switch {
	case o.link != "" && !mostly:
		return fmt.Sprintf("%s has no hardware: payload stays in the sender's memory, and send and sendfile use "+
				"blocks of several pages or the page cache, which cannot be mapped", o.link),
			want + "; over " + o.link +
				" only the send modes msg-zerocopy and uring-zc fill pages, through a copy on delivery"
	case split && o.splitErr != nil:
		return "headers are not split from payload: " + o.splitErr.Error(), want
	case split && o.split.State != nic.SplitOn && !mostly:
		return fmt.Sprintf("headers are not split from payload on %s: %v", o.dev, o.split),
			o.split.SplitCommand(o.dev) + ", as root; or name the interface (--dev)"
	case split && o.rings.PageBufs(o.dev) != "":
		return fmt.Sprintf("receive buffers of %s have %d bytes, so payload does not fill pages of %d", o.dev,
				o.rings.RXBufLen, pageBytes),
			o.rings.PageBufs(o.dev) + ", or --set sut:rx-buf-len=4096 for the run only"
	case o.segment%pageBytes != 0:
		return fmt.Sprintf("segments carry %d bytes, which does not fill pages of %d", o.segment, pageBytes),
			fmt.Sprintf("ip link set dev %s mtu %d, at both ends; or hardware GRO: ethtool -K %s rx-gro-hw on", o.dev,
				o.mtu(), o.dev)
	case split && o.split.Threshold > 0:
		return fmt.Sprintf("headers of packets up to %d bytes are not split from payload on %s", o.split.Threshold,
				o.dev),
			o.split.SplitCommand(o.dev)
	}
	return fmt.Sprintf("part of the payload did not fill whole pages: messages end inside a page, or the buffers "+
		"of %s are not single pages", o.dev), want
}

// Metrics describe what was mapped and what was copied.
var Metrics = []measure.MetricDoc{
	{Names: "tcpmmap_calls tcpmmap_recv_calls tcpmmap_unmaps tcpmmap_mapped_bytes " +
		"tcpmmap_copied_bytes tcpmmap_window_bytes tcp_rcv_segment_bytes",
		Units: "1 1 1 bytes bytes bytes bytes", Source: "data path, whole flow",
		Meaning: "docs/tcp-mmap.md"},
}
