// SPDX-License-Identifier: MIT

package doctor

// driver is what is known of a NIC's driver beyond what it tells itself, as of Linux
// [readIn]. docs/nics.md has the table.
type driver struct {
	nic        string   // what it is for, in people's words
	receives   string   // the kernel since which its queues take memory providers (zcrx, devmem); "": they do not
	onlyIf     string   // what they take them under
	sends      string   // the kernel since which it sends from a dmabuf (netmem_tx); "": it does not
	buffers    string   // longest receive buffers; "": a page
	split      string   // of headers from payload; "": no
	threshold  string   // hds-thresh; "": it has none
	hwGRO      string   // rx-gro-hw; "": no; "?": not looked at
	untold     bool     // napi-get does not tell its interrupts
	virtual    bool     // it has none
	channels   string   // how queues are counted (ethtool -L); "": combined
	notes      []string // what surprises
	impossible []string // combinations that it cannot do
	splitBy    string   // the command that brings header split on, where the usual one does not
	bindTells  dropped  // why what the kernel answers beforehand is not the last word
}

// readIn is the kernel whose drivers were read for the table.
const readIn = "7.3.4"

// drivers are by the name that ETHTOOL_GDRVINFO gives.
var drivers = map[string]driver{
	"bnxt_en": {nic: "Broadcom NetXtreme-C/E", channels: "combined, or rx, tx", receives: "6.16", sends: "6.17", onlyIf: "physical function, firmware with rules by VNIC and VNIC flush",
		buffers: "32 KiB, P5 (Thor) and later", split: "yes", threshold: "to 1023", hwGRO: "yes",
		notes: []string{"tcp-data-split off is refused: use auto to turn it off", "hds-thresh must be 0 (default: 256 or more)", "receive buffers up to 32 KiB (rx_buf_len)",
			"hardware GRO makes packets of at most MAX_SKB_FRAGS pages", "2047 RX descriptors at most with header split or hardware GRO",
			"with more rings than its firmware can steer to, it drops ntuple without an error"},
		// Firmware that cannot has bnxt_queue_mgmt_ops_unsupp (bnxt_init_one, bnxt.c), for which
		// __netif_mp_open_rxq looks at header split first, as it does for all. That it has no
		// operation to restart a queue netdev_rx_queue_reconfig finds (net/core/netdev_rx_queue.c),
		// before it does anything. What else depends on both capabilities (BNXT_SUPPORTS_QUEUE_API)
		// is TPH alone, which bnxt_request_irq switches on where the platform can, too.
		bindTells: dropped{"the kernel cannot tell: bnxt with older firmware answers the same until a queue is given memory",
			"run it once: firmware that cannot do it answers EOPNOTSUPP, with no queue touched; then install newer firmware than ethtool -i DEV shows"}},
	"mlx5_core": {nic: "NVIDIA ConnectX", receives: "6.17", sends: "6.17", onlyIf: "rx-gro-hw, striding RQ",
		buffers: "128 KiB", split: "with rx-gro-hw", threshold: "0 alone", hwGRO: "striding RQ, no CQE compression",
		notes: []string{"header split needs rx-gro-hw on, which then cannot be turned off", "no XDP together with header split",
			"rx_cqe_compress on, or rx_striding_rq off (private flags), drop rx-gro-hw; tx_port_ts on, or an HTB qdisc, and queues are not restarted"},
		impossible: []string{"zero copy with software GRO (--hw-gro off)"},
		splitBy:    "ethtool -K DEV rx-gro-hw on && ethtool -G DEV tcp-data-split on hds-thresh 0"},
	"gve": {nic: "Google virtual NIC", receives: "6.18", sends: "6.16", onlyIf: "queue format DQO-RDA, not queue 0", split: "yes", hwGRO: "7.1, DQO", channels: "rx, tx",
		notes:      []string{"only the queue format DQO-RDA can", "queue 0 is refused (ERANGE)", "receive buffers of 4096 or 2048 bytes (ethtool -G rx-buf-len)", "no hds-thresh"},
		impossible: []string{"zero copy on queue 0 (--queue 0)"}},
	"fbnic": {nic: "Meta", receives: "6.18", sends: "6.18", split: "always", threshold: "yes",
		notes:      []string{"header split is always on; hds-thresh must be 0 (default: 1536)", "no hardware GRO", "payload goes to the rx-jumbo ring"},
		impossible: []string{"zero copy with hardware GRO (--hw-gro on)"}},
	"netkit":  {nic: "a container's end of a NIC's queue", receives: "7.1", sends: "7.2", onlyIf: "a queue leased from a physical NIC", channels: "none", virtual: true, notes: []string{"through a queue leased from a physical NIC"}},
	"softnic": {nic: "the lab's", receives: "7.2", sends: "7.2", buffers: "2 MiB", split: "yes", threshold: "yes", hwGRO: "yes", virtual: true, notes: []string{"the lab's: it tests data paths; its speeds mean nothing"}},

	"ice":        {nic: "Intel E800", hwGRO: "?", split: "yes", notes: []string{"splits headers, but its queues take no memory providers"}},
	"idpf":       {nic: "Intel and Google IDPF", hwGRO: "yes", split: "yes", notes: []string{"splits headers, but its queues take no memory providers (the reference experiment patched it)"}},
	"bnge":       {nic: "Broadcom Thor Ultra", hwGRO: "?"},
	"ena":        {nic: "Amazon", hwGRO: "?"},
	"i40e":       {nic: "Intel 700", hwGRO: "?", untold: true},
	"ixgbe":      {nic: "Intel 82599, X500", hwGRO: "?", untold: true},
	"e1000e":     {nic: "Intel 1G", channels: "fixed"},
	"mana":       {nic: "Microsoft Azure", hwGRO: "?", untold: true},
	"ionic":      {nic: "AMD Pensando", hwGRO: "?", untold: true},
	"sfc":        {nic: "AMD Solarflare", hwGRO: "?", untold: true},
	"enic":       {nic: "Cisco VIC", hwGRO: "?", untold: true},
	"hns3":       {nic: "HiSilicon", hwGRO: "yes", untold: true},
	"virtio_net": {nic: "QEMU, most clouds", hwGRO: "if the host has it", untold: true},
	"veth":       {nic: "a pair of namespaces", channels: "rx, tx", virtual: true, notes: []string{"has no hardware; it copies payload that was sent with zero copy when it delivers it"}},
	"netdevsim":  {nic: "the kernel's test device", split: "yes", threshold: "yes", virtual: true, notes: []string{"its page pools take no memory providers"}},
}
