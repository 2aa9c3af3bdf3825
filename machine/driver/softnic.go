// SPDX-License-Identifier: MIT

package driver

// softNIC is the lab's NIC (lab/softnic).
var softNIC = Driver{
	Name: "softnic", NIC: "the lab's", HWGRO: "yes",

	Memory: Memory{Receives: "7.2", Sends: "7.2", Buffers: "2 MiB"},
	Splitting: Splitting{Split: "yes", Threshold: "yes", SplitCounters: &SplitCounters{
		[]string{"rx*_packets", "rx*_split_packets"}, func(n []uint64) (float64, bool) { return ratio(n[1], n[0]) }}},
	Interrupts: Interrupts{Virtual: true, IRQCounter: "rx*_interrupts"}, // irq_fire of irq.c
	CountsNow:  true,                                                    // sn_get_stats64
	Notes:      []string{"the lab's: it tests data paths; its speeds mean nothing"},

	resets: []string{"channels", "ring", "header-split"}, // sn_reconfigure of netdev.c
}
