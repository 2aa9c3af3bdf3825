// SPDX-License-Identifier: MIT

package report

import (
	"fmt"
	"strconv"

	"gonum.org/v1/plot/plotter"

	"github.com/zcbench/zcbench/machine/measure"
)

// maxTimePlots is the most cells whose connections are drawn over time.
const maxTimePlots = 6

// timeFigures are what is drawn of a connection: series of the probe tcp, by their names in
// samples.csv, in a unit of their own.
var timeFigures = []struct {
	name, title, caption string
	unit                 float64
	tg, sut              map[string]string // what the legend says
	order                []string
}{
	{"cwnd", "Congestion window", "Packets over seconds, sender.", 1,
		map[string]string{"tcp_cwnd_packets": "cwnd", "tcp_ssthresh_packets": "ssthresh"}, nil,
		[]string{"tcp_cwnd_packets", "tcp_ssthresh_packets"}},
	{"window", "Bytes in flight and windows", "10⁶ bytes over seconds: in flight and the window that the " +
		"receiver gave, by the sender; the window by the receiver.", 1e6,
		map[string]string{"tcp_in_flight_bytes": "in flight", "tcp_snd_window_bytes": "send window"},
		map[string]string{"tcp_rcv_window_bytes": "receive window"},
		[]string{"tcp_in_flight_bytes", "tcp_snd_window_bytes", "tcp_rcv_window_bytes"}},
	{"unread", "Received, not read yet", "10⁶ bytes of memory over seconds, receiver. A copy of more than the " +
		"CPU's cache holds reads it from memory.", 1e6,
		nil, map[string]string{"tcp_rmem_alloc_bytes": "waits for the application"}, []string{"tcp_rmem_alloc_bytes"}},
	{"rtt", "Round trip", "µs over seconds, sender.", 1,
		map[string]string{"tcp_srtt_us": "smoothed", "tcp_min_rtt_us": "least"}, nil,
		[]string{"tcp_srtt_us", "tcp_min_rtt_us"}},
	{"tcp_rate", "Pacing and delivery rate", "Gbit/s over seconds, sender.", 1e9 / 8,
		map[string]string{"tcp_delivery_rate_bytes_ps": "delivery", "tcp_pacing_rate_bytes_ps": "pacing"}, nil,
		[]string{"tcp_delivery_rate_bytes_ps", "tcp_pacing_rate_bytes_ps"}},
	{"retrans", "Retransmitted", "Packets since the connection began, over seconds, sender.", 1,
		map[string]string{"tcp_retrans_packets": "retransmitted"}, nil, []string{"tcp_retrans_packets"}},
	{"app_limited", "Limited by the application",
		"1 where the newest delivery rate is what the application gave to send, over seconds, sender.", 1,
		map[string]string{"tcp_app_limited": "limited"}, nil, []string{"tcp_app_limited"}},
}

// timeFigureList draws the connection of one run of each cell whose runs have the probe tcp.
func timeFigureList(cells []Cell) (out []Figure, err error) {
	names, drawn := shortNames(cells), 0
	for i := range cells {
		tg, sut := flowSeries(cells[i].TG.Probed), flowSeries(cells[i].SUT.Probed)
		if len(tg)+len(sut) == 0 || drawn == maxTimePlots {
			continue
		}
		drawn++
		for _, f := range timeFigures {
			var all []curve
			for _, name := range f.order {
				for end, series := range map[string]map[string]measure.Series{f.tg[name]: tg, f.sut[name]: sut} {
					if c, ok := overTime(end, series[name], f.unit); ok {
						all = append(all, c)
					}
				}
			}
			if len(all) == 0 {
				continue
			}
			one := Figure{Name: fmt.Sprintf("%s-%d", f.name, i+1), Title: f.title + ", #" + strconv.Itoa(i+1) +
				" " + names[i], Caption: f.caption + " One run."}
			if one.SVG, err = curvesSVG(all); err != nil {
				return nil, fmt.Errorf("plot %s: %w", one.Name, err)
			}
			out = append(out, one)
		}
	}
	return out, nil
}

func flowSeries(p *Probed) map[string]measure.Series {
	if p == nil {
		return nil
	}
	all := map[string]measure.Series{}
	for _, s := range p.Flow {
		all[s.Name] = s
	}
	return all
}

// overTime turns a series into a curve; ok is false without a name, or with fewer than two points.
func overTime(name string, s measure.Series, unit float64) (c curve, ok bool) {
	if name == "" || len(s.T) < 2 || len(s.T) != len(s.V) {
		return c, false
	}
	const most = 1e15 // no figure of a connection is more, whatever a far host says
	c = curve{name: name, plain: true}
	for k, t := range s.T {
		if v := s.V[k]; !(v >= 0 && v <= most) || t < 0 || t > most {
			return c, false
		}
		c.at = append(c.at, plotter.XY{X: float64(t) / 1e9, Y: s.V[k] / unit})
	}
	return c, true
}
