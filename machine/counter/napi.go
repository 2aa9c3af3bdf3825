// SPDX-License-Identifier: MIT

package counter

import "github.com/zcbench/zcbench/machine/measure"

// Who polls the flow's interface, as eBPF sees it.
const (
	NAPISoftirq   = iota // after an interrupt, or a call that had softirqs wait
	NAPIKsoftirqd        // the same, where it became too much at once
	NAPIApp              // threads of this process, which wait, and busy-poll meanwhile
	NAPIThread           // kernel threads, of threaded NAPI
	NAPIOthers           // threads of other processes
	NAPIPollers
)

var napiPollers = [NAPIPollers]string{"softirq", "ksoftirqd", "app", "thread", "others"}

// NAPIPolls are the polls of one of them.
type NAPIPolls struct {
	Polls, Packets, Empty uint64 // Empty found no packet
	SpinNs                int64  // from an empty poll to the next, of a task that did nothing else
}

func (a NAPIPolls) since(b NAPIPolls) NAPIPolls {
	return NAPIPolls{a.Polls - b.Polls, a.Packets - b.Packets, a.Empty - b.Empty, a.SpinNs - b.SpinNs}
}

func (a *NAPIPolls) add(b NAPIPolls) {
	a.Polls, a.Packets, a.Empty, a.SpinNs = a.Polls+b.Polls, a.Packets+b.Packets, a.Empty+b.Empty, a.SpinNs+b.SpinNs
}

const sourceNAPI = "eBPF napi_poll"

// addNAPI adds who polled the flow's interface, on whatever CPU. Where nothing is told of polls, as
// of an interface without NAPI of its own, there are no shares.
func (r *rows) addNAPI(all []CPUTasks, wall float64) {
	var by [NAPIPollers]NAPIPolls
	var sum, busy NAPIPolls
	for i := range all {
		for who, p := range all[i].NAPI {
			by[who].add(p)
			sum.add(p)
		}
	}
	for who, name := range napiPollers {
		p := by[who]
		r.moved("napi_"+name+"_polls", "1", float64(p.Polls), sourceNAPI)
		r.moved("napi_"+name+"_packets", "packets", float64(p.Packets), sourceNAPI)
		r.moved("napi_"+name+"_empty_polls", "1", float64(p.Empty), sourceNAPI)
	}
	if len(all) == 0 || sum.Polls == 0 {
		return
	}
	busy.add(by[NAPIApp])
	busy.add(by[NAPIThread])
	percent := func(name string, part, of uint64) {
		if of > 0 {
			r.add(name, "%", 100*float64(part)/float64(of), sourceNAPI, "")
		}
	}
	percent(measure.MetricPolledByApp, by[NAPIApp].Packets, sum.Packets)
	percent(measure.MetricPolledByThread, by[NAPIThread].Packets, sum.Packets)
	percent(measure.MetricPolledBySoftirq, by[NAPISoftirq].Packets+by[NAPIKsoftirqd].Packets, sum.Packets)
	percent(measure.MetricEmptyPolls, busy.Empty, busy.Polls)
	if wall > 0 && busy.Polls > 0 {
		r.add(measure.MetricSpin, "cores", float64(busy.SpinNs)/1e9/wall, sourceNAPI, "")
		r.add(measure.MetricAppSpin, "cores", float64(by[NAPIApp].SpinNs)/1e9/wall, sourceNAPI, "")
	}
}

// NAPIMetrics describe who polled.
var NAPIMetrics = []measure.MetricDoc{
	{Names: "napi_WHO_polls napi_WHO_packets napi_WHO_empty_polls", Units: "1 packets 1", Source: sourceNAPI,
		Meaning: "polls of the flow's interface, the packets that the driver says they brought, and polls that " +
			"brought none (they may have cleaned up what was sent): softirq, ksoftirqd, app (zcbench's threads, " +
			"which busy-poll), thread (kernel threads of threaded NAPI), others (other processes that busy-poll)"},
	{Names: "polled_by_app_pct polled_by_thread_pct polled_by_softirq_pct", Units: "% % %",
		Source: sourceNAPI + "; /proc/net/netstat",
		Meaning: "of these packets those that each brought, ksoftirqd's among softirq's. Where eBPF does not " +
			"tell, BusyPollRxPackets by the packets of the interface is the first, and the others are not known"},
	{Names: "empty_polls_pct spin_cores napi_app_spin_cores", Units: "% cores cores", Source: sourceNAPI,
		Meaning: "of app's and thread's polls those that brought no packet; and their time from such a poll to " +
			"the next, if that is less than 5 us, without another task or softirq in between: CPU time that was " +
			"spent on waiting. The last is app's part"},
}
