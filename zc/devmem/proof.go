// SPDX-License-Identifier: MIT

package devmem

import (
	"fmt"

	"github.com/zcbench/zcbench/machine/measure"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/machine/nic"
	"github.com/zcbench/zcbench/zc/held"
)

// Evidence returns what was seen of the flow, its reads and its queue.
func (r *Receiver) Evidence() stream.Evidence {
	e := stream.Evidence{CountsLinear: true, Figures: r.gather.Figures(), Device: r.mem.Where(r.queue.Dev),
		DeviceBytes: r.mem.Size}
	figure := func(name, unit string, v float64) {
		e.Figures = append(e.Figures, stream.Figure{Name: name, Unit: unit, Value: v})
	}
	t := r.tokens
	figure("devmem_memory_bytes", "bytes", float64(r.mem.Size))
	figure("devmem_buffer_bytes", "bytes", float64(r.bufLen))
	figure("devmem_read_bytes", "bytes", float64(len(r.linear.Bytes())))
	figure("devmem_token_batch", "1", float64(t.batch))
	r.reads.figures(figure)
	figure("devmem_setsockopt_calls", "1", float64(t.calls))
	figure("devmem_token_ranges", "1", float64(t.ranges))
	figure("devmem_tokens_received", "1", float64(t.received))
	figure("devmem_tokens_freed", "1", float64(t.freed))
	figure("devmem_idle_releases", "1", float64(t.idle))
	if t.early > 0 {
		e.Notes = append(e.Notes,
			fmt.Sprintf("%d fragments were returned before --hold was reached: no more than %d can be held", t.early,
				held.Max))
	}
	if r.reads.truncated > 0 {
		e.Notes = append(e.Notes,
			fmt.Sprintf("the kernel cut control messages of %d reads (MSG_CTRUNC), none of payload", r.reads.truncated))
	}
	r.testify(&e, figure)
	return e
}

// testify adds what the device says.
func (r *Receiver) testify(e *stream.Evidence, figure func(name, unit string, v float64)) {
	q := r.queue
	figure("devmem_queue", "1", float64(q.ID))
	e.Figures = append(e.Figures, q.Shortage(r.bufLen)...)
	if id, ok := q.LeasedTo(); ok {
		figure("devmem_leased_queue", "1", float64(id))
	}
	e.Notes = append(e.Notes, q.Notes()...)
	on, _ := q.Landed(r.fd)
	if id, ok := on.Queue(); ok {
		figure("devmem_flow_queue", "1", float64(id))
	}
	bound := 0.0
	if now, err := q.Dev.Queue(q.ID); err == nil && now.Provider == nic.ProviderDMABuf && now.DMABuf == r.binding.ID {
		bound = 1
	} else {
		e.Notes = append(e.Notes, fmt.Sprintf("the binding of RX queue %d was gone when the flow ended", q.ID))
	}
	figure("devmem_provider_bound", "1", bound)
	pool := 0.0
	if n, known, err := r.inflight(); err == nil && known {
		pool = 1
		figure("devmem_pool_inflight", "1", float64(n))
	} else if bound == 1 {
		e.Notes = append(e.Notes,
			"no page pool shows the binding: the driver does not report which pool its queue uses")
	}
	figure("devmem_pool_bound", "1", pool)
	if h, err := q.Dev.HeaderSplit(); err == nil && (h.State != nic.SplitOn || h.Threshold > 0) {
		e.Notes = append(e.Notes, fmt.Sprintf("headers were not split at the end of the flow (%v)", h))
	}
	switch {
	case r.copied > 0:
		e.Why, e.Fix = q.Whereabouts(r.fd)
	case r.linearBytes > 0:
		e.Why = fmt.Sprintf("%d bytes came in packets' linear part: the driver does not split off all headers",
			r.linearBytes)
		e.Fix = "ethtool -g " + q.Dev.Name + " must show TCP data split on and HDS thresh 0; or use another driver"
	}
}

// ProofMetrics describe the queue and the memory of a flow.
var ProofMetrics = []measure.MetricDoc{
	{Names: "devmem_queue devmem_flow_queue devmem_provider_bound devmem_pool_bound",
		Units: "1", Source: "data path, whole flow",
		Meaning: "as for zcrx; the last is of the page pool"},
	{Names: "devmem_leased_queue",
		Units: "1", Source: "data path, whole flow",
		Meaning: "the queue of the container's interface that queue-get said devmem_queue was leased to at the " +
			"end of the flow"},
	{Names: "devmem_memory_bytes devmem_payload_bytes",
		Units: "bytes", Source: "data path, whole flow",
		Meaning: "size of the dmabuf; payload received in it"},
	{Names: measure.MetricAreaDevice, Units: "bytes",
		Meaning: "size of the payload's memory of this end, where that is on a device such as a GPU (also of zcrx). " +
			"Its source is the device that was taken: PCI address, distance from the NIC, name"},
	{Names: "devmem_read_bytes devmem_buffer_bytes devmem_token_batch",
		Units: "bytes bytes 1", Source: "data path, whole flow",
		Meaning: "`--read-size`, `--rx-buf-len` and `--token-batch` as they were used"},
}
