// SPDX-License-Identifier: MIT

package doctor

// driver is what is known of a NIC's driver beyond what it tells itself.
type driver struct {
	zeroCopy   bool     // its queues take memory providers
	since      string   // kernel
	notes      []string // what surprises
	impossible []string // combinations that it cannot do
	split      string   // the command that brings header split on, where the usual one does not
}

// drivers are by the name that ETHTOOL_GDRVINFO gives.
var drivers = map[string]driver{
	"bnxt_en": {zeroCopy: true, since: "6.16",
		notes: []string{"tcp-data-split off is refused: auto is its off", "hds-thresh is 256 or more by default: it must be 0", "receive buffers up to 32 KiB (rx_buf_len)",
			"hardware GRO makes packets of at most MAX_SKB_FRAGS pages"}},
	"mlx5_core": {zeroCopy: true, since: "6.17",
		notes:      []string{"header split needs rx-gro-hw on, and then it cannot be turned off", "no XDP together with header split"},
		impossible: []string{"zero copy with software GRO (--hw-gro off)"},
		split:      "ethtool -K DEV rx-gro-hw on && ethtool -G DEV tcp-data-split on hds-thresh 0"},
	"gve": {zeroCopy: true, since: "6.18",
		notes:      []string{"only the queue format DQO-RDA can", "queue 0 is refused (ERANGE)"},
		impossible: []string{"zero copy on queue 0 (--queue 0)"}},
	"fbnic": {zeroCopy: true, since: "6.18",
		notes:      []string{"header split is always on; hds-thresh is 1536 by default: it must be 0", "no hardware GRO"},
		impossible: []string{"zero copy with hardware GRO (--hw-gro on)"}},
	"netkit":  {zeroCopy: true, since: "7.1", notes: []string{"through a queue leased from a physical NIC"}},
	"softnic": {zeroCopy: true, since: "7.2", notes: []string{"the lab's: it checks paths, its speeds mean nothing"}},

	"idpf":       {notes: []string{"splits headers, but its queues take no memory providers: the reference experiment patched it"}},
	"ice":        {},
	"ena":        {},
	"ionic":      {},
	"bnge":       {},
	"virtio_net": {},
	"veth":       {notes: []string{"has no hardware; it copies payload that was sent with zero copy when it delivers it"}},
	"netdevsim":  {},
}
