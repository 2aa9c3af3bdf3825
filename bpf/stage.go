// SPDX-License-Identifier: MIT

package bpf

import "slices"

// stage is one place on the way up.
type stage struct {
	name    string
	process bool // runs on behalf of the reading process
	// choices are sets of programs, the best first: the first of which one can
	// be loaded is taken.
	choices [][]string
	// needs are programs without which the others of their set count nothing.
	needs []string
}

// stages are in the order of enum stage of latency.bpf.c.
var stages = []stage{
	{name: "ip-receive", choices: [][]string{{"ip4_receive", "ip6_receive"}, {latencyProgIpReceiveTp}}},
	{name: "tcp-receive", choices: [][]string{{"tcp4_receive", "tcp6_receive"}}},
	{name: "tcp-do-rcv", choices: [][]string{{"tcp4_do_rcv", "tcp6_do_rcv"}, {"tcp_do_rcv_tp"}}},
	{name: "tcp-enqueued", choices: [][]string{{"tcp_enqueued"}, {latencyProgEnqueuedTp}}},
	{name: "tcp-read", process: true, choices: [][]string{{"tcp_read"}, {"tcp_read_tp"}}},
	{name: "tcp-return", process: true, choices: [][]string{{"tcp_return"}}},
	{name: "udp-receive", choices: [][]string{{"udp4_receive", "udp6_receive"}}},
	{name: "udp-enqueued", choices: [][]string{{"udp_enqueued"}, {latencyProgEnqueuedTp}}},
	// No tracepoint: a linear datagram is copied without passing one.
	{name: "udp-read", process: true, choices: [][]string{{"udp_read"}}},
	{name: "devmem-read", process: true, choices: [][]string{{"devmem_read"}}},
	{name: "zcrx-read", process: true, choices: [][]string{{"zcrx_read"}}},
	{name: "zcrx-cqe", process: true, choices: [][]string{{"zcrx_cqe"}}},
	{name: "softirq-run", choices: [][]string{{"softirq_raised", "softirq_run"}}, needs: []string{"softirq_raised",
		"softirq_run"}},
	{name: "wake-return", process: true, choices: [][]string{{"data_ready", "socket_returned", "zcrx_returned"}},
		needs: []string{"data_ready"}},
}

// enables are the variables that make the one program at sk_data_ready serve a
// stage.
var enables = map[string]string{"tcp-enqueued": latencyVarTpTcpEnqueued, "udp-enqueued": latencyVarTpUdpEnqueued}

func (h Hook) there() bool { return h.Reason == "" }

// attach tries the choices in turn until one serves the stage. hook attaches a
// program, unhook takes one away that is of no use.
func (s stage) attach(hook func(program string) Hook, unhook func(program string) error) (all []Hook) {
	for _, programs := range s.choices {
		chosen := s.choose(programs, hook, unhook)
		serves := slices.ContainsFunc(chosen, Hook.there)
		for i := range all {
			all[i].Replaced = serves
		}
		all = append(all, chosen...)
		if serves {
			break
		}
	}
	return all
}

// choose attaches one set of programs: as many as can be.
func (s stage) choose(programs []string, hook func(program string) Hook,
	unhook func(program string) error) (hooks []Hook) {
	var missing string // function that a needed program had to sit at
	for _, p := range programs {
		h := hook(p)
		hooks = append(hooks, h)
		if !h.there() && slices.Contains(s.needs, p) {
			missing = h.Function
		}
	}
	for i := range hooks {
		if h := &hooks[i]; missing != "" && h.there() {
			h.Reason = "useless without " + missing
			if err := unhook(programs[i]); err != nil {
				h.Reason += ": " + err.Error()
			}
		}
	}
	return hooks
}
