// SPDX-License-Identifier: MIT

package counter

import (
	"fmt"

	"github.com/zcbench/zcbench/machine/measure"

	"golang.org/x/sys/unix"
)

// TCPInfo is TCP_INFO of one socket (net/ipv4/tcp.c, tcp_get_info).
type TCPInfo struct {
	// Fields has what the kernel answered, in its order. A field that this
	// kernel lacks is not there.
	Fields []TCPField
	// Congestion is the congestion control in use, "" when not known.
	Congestion string
}

// TCPField is one figure of TCP_INFO.
type TCPField struct {
	Name  string // as in struct tcp_info, with the unit where it is a time
	Unit  string
	Value uint64
	// Counter fields grow from the beginning of the flow; the others are
	// gauges. Bits is the counter's width.
	Counter bool
	Bits    int
}

// Get returns a field's value, false when the kernel did not report it.
func (t TCPInfo) Get(name string) (uint64, bool) {
	for _, f := range t.Fields {
		if f.Name == name {
			return f.Value, true
		}
	}
	return 0, false
}

// ReadTCPInfo asks the socket for TCP_INFO and TCP_CONGESTION. It fails with
// EBADF or ENOTSOCK for a wrong descriptor and with EOPNOTSUPP or ENOPROTOOPT
// for a socket that is not TCP.
func ReadTCPInfo(fd int) (TCPInfo, error) {
	ti, n, err := getTCPInfo(fd)
	if err != nil {
		return TCPInfo{}, fmt.Errorf("read TCP_INFO: %w: give an open TCP socket", err)
	}
	if n < tcpInfoMin {
		return TCPInfo{}, fmt.Errorf("read TCP_INFO: the kernel answered %d bytes: give a TCP socket", n)
	}
	t := TCPInfo{Fields: decodeTCPInfo(&ti, n)}
	t.Congestion, _ = unix.GetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION) // "" is not known
	return t, nil
}

// decoder collects the fields that lie within the n bytes of the answer.
type decoder struct {
	ti  *tcpInfo
	n   uintptr
	out []TCPField
}

func (d *decoder) add(name, unit string, counter bool, field *uint32) {
	if end(d.ti, field) <= d.n {
		d.out = append(d.out, TCPField{name, unit, uint64(*field), counter, 32})
	}
}

func (d *decoder) add64(name, unit string, counter bool, field *uint64) {
	if end(d.ti, field) <= d.n {
		d.out = append(d.out, TCPField{name, unit, *field, counter, 64})
	}
}

func (d *decoder) add16(name, unit string, counter bool, field *uint16) {
	if end(d.ti, field) <= d.n {
		d.out = append(d.out, TCPField{name, unit, uint64(*field), counter, 16})
	}
}

const (
	gauge   = false
	counted = true
)

func decodeTCPInfo(ti *tcpInfo, n uintptr) []TCPField {
	d := &decoder{ti: ti, n: n}
	d.state()
	d.totals()
	d.accurateECN()
	return d.out
}

// state adds what every kernel has: the connection as it is.
func (d *decoder) state() {
	t := d.ti
	d.out = append(d.out,
		TCPField{"state", "1", uint64(t.State), gauge, 8},
		TCPField{"ca_state", "1", uint64(t.CAState), gauge, 8},
		TCPField{"snd_wscale", "1", uint64(t.Wscale & 15), gauge, 4},
		TCPField{"rcv_wscale", "1", uint64(t.Wscale >> 4), gauge, 4},
		TCPField{"delivery_rate_app_limited", "1", uint64(t.Bits & 1), gauge, 1})
	d.add("rto_us", "us", gauge, &t.RTO)
	d.add("snd_mss", "bytes", gauge, &t.SndMSS)
	d.add("rcv_mss", "bytes", gauge, &t.RcvMSS)
	d.add("unacked", "packets", gauge, &t.Unacked)
	d.add("sacked", "packets", gauge, &t.Sacked)
	d.add("lost", "packets", gauge, &t.Lost)
	d.add("pmtu", "bytes", gauge, &t.PMTU)
	d.add("rcv_ssthresh", "bytes", gauge, &t.RcvSsthresh)
	d.add("rtt_us", "us", gauge, &t.RTT)
	d.add("rttvar_us", "us", gauge, &t.RTTVar)
	d.add("snd_ssthresh", "packets", gauge, &t.SndSsthresh)
	d.add("snd_cwnd", "packets", gauge, &t.SndCwnd)
	d.add("advmss", "bytes", gauge, &t.AdvMSS)
	d.add("reordering", "packets", gauge, &t.Reordering)
	d.add("rcv_rtt_us", "us", gauge, &t.RcvRTT)
	d.add("rcv_space", "bytes", gauge, &t.RcvSpace)
	d.add("total_retrans", "packets", counted, &t.TotalRetrans)
}

// totals adds the counters that came after Linux 3.15.
func (d *decoder) totals() {
	t := d.ti
	d.add64("pacing_rate", "bytes/s", gauge, &t.PacingRate)
	d.add64("bytes_acked", "bytes", counted, &t.BytesAcked)
	d.add64("bytes_received", "bytes", counted, &t.BytesReceived)
	d.add("segs_out", "packets", counted, &t.SegsOut)
	d.add("segs_in", "packets", counted, &t.SegsIn)
	d.add("notsent_bytes", "bytes", gauge, &t.NotsentBytes)
	d.add("min_rtt_us", "us", gauge, &t.MinRTT)
	d.add("data_segs_in", "packets", counted, &t.DataSegsIn)
	d.add("data_segs_out", "packets", counted, &t.DataSegsOut)
	d.add64("delivery_rate", "bytes/s", gauge, &t.DeliveryRate)
	d.add64("busy_time_us", "us", counted, &t.BusyTime)
	d.add64("rwnd_limited_us", "us", counted, &t.RwndLimited)
	d.add64("sndbuf_limited_us", "us", counted, &t.SndbufLimited)
	d.add("delivered", "packets", counted, &t.Delivered)
	d.add("delivered_ce", "packets", counted, &t.DeliveredCE)
	d.add64("bytes_sent", "bytes", counted, &t.BytesSent)
	d.add64("bytes_retrans", "bytes", counted, &t.BytesRetrans)
	d.add("dsack_dups", "packets", counted, &t.DSackDups)
	d.add("reord_seen", "1", counted, &t.ReordSeen)
	d.add("rcv_ooopack", "packets", counted, &t.RcvOOOPack)
	d.add("snd_wnd", "bytes", gauge, &t.SndWnd)
	d.add("rcv_wnd", "bytes", gauge, &t.RcvWnd)
	d.add("rehash", "1", counted, &t.Rehash)
	d.add16("total_rto", "1", counted, &t.TotalRTO)
	d.add16("total_rto_recoveries", "1", counted, &t.TotalRTORecoveries)
	d.add("total_rto_time_ms", "ms", counted, &t.TotalRTOTime)
}

// accurateECN adds what came with Linux 6.18.
func (d *decoder) accurateECN() {
	t := d.ti
	d.add("received_ce", "packets", counted, &t.ReceivedCE)
	d.add("delivered_e1_bytes", "bytes", counted, &t.DeliveredE1Bytes)
	d.add("delivered_e0_bytes", "bytes", counted, &t.DeliveredE0Bytes)
	d.add("delivered_ce_bytes", "bytes", counted, &t.DeliveredCEBytes)
	d.add("received_e1_bytes", "bytes", counted, &t.ReceivedE1Bytes)
	d.add("received_e0_bytes", "bytes", counted, &t.ReceivedE0Bytes)
	d.add("received_ce_bytes", "bytes", counted, &t.ReceivedCEBytes)
}

// tcpInfoBetween turns two answers of one socket into the second one, with the
// growth instead of the total in every counter. The kernel's narrower counters
// may wrap once. A field that only one answer has is left out.
func tcpInfoBetween(before, after TCPInfo) TCPInfo {
	out := TCPInfo{Congestion: after.Congestion}
	for _, f := range after.Fields {
		if f.Counter {
			b, ok := before.Get(f.Name)
			if !ok {
				continue
			}
			f.Value = (f.Value - b) & (1<<f.Bits - 1)
		}
		out.Fields = append(out.Fields, f)
	}
	return out
}

// TCPInfoMetrics describe the rows of TCP_INFO.
var TCPInfoMetrics = []measure.MetricDoc{
	{Names: "tcp_info_NAME",
		Units: "*", Source: "TCP_INFO",
		Meaning: "TCP_INFO at the window's end, counters over the window " +
			"(include/uapi/linux/tcp.h)"},
}
