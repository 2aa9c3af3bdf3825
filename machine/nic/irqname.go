// SPDX-License-Identifier: MIT

package nic

import (
	"strconv"
	"strings"

	"github.com/zcbench/zcbench/internal/lazy"
)

// irqRole is what an interrupt is for, as far as its name says.
type irqRole struct {
	rx, tx bool // it serves queues that receive, that send; neither: something else, or unknown
	queue  int  // the number in the name; -1: none
	ours   bool // the name names the interface
	others bool // it names another one
	bare   bool // it names the interface, its device or driver, and nothing of it
}

// owner is whose interrupts are looked for.
type owner struct {
	dev    string   // the interface
	driver string   // of it, as it calls itself
	bus    string   // its device's place on the bus, such as 0000:3b:00.0
	others []string // more interfaces of the same device
}

// queueName matches what stands behind the interface or its device in the name of an interrupt
// of queues. Of drivers that do not tell napi-get (Linux 7.3.4):
//
//	virtio1-input.0, virtio1-output.0     virtio_net.c: virtnet_find_vqs, virtio_pci_common.c: vp_setup_vq
//	virtio1-virtqueues                    virtio_pci_common.c: vp_request_msix_vectors
//	i40e-eth0-TxRx-0, -rx-0, -tx-0        i40e_main.c: i40e_vsi_request_irq_msix
//	eth0-TxRx-0, -rx-0, -tx-0             ixgbe_main.c: ixgbe_request_msix_irqs; ixgbevf, fm10k, wangxun
//	ionic-eth0-L0-rx0, -tx0               ionic_lif.c: ionic_request_irq, ionic_dev.c: ionic_q_init
//	eth0-0, eth0-rx-0, eth0-tx-0, -xdp-0  sfc/efx_channels.c: efx_get_channel_name
//	eth0-rx-0, eth0-tx-0                  enic_main.c: enic_request_intr
//	hns3-0000:bd:00.0-TxRx-0, -Rx-, -Tx-  hns3_enet.c: hns3_nic_init_irq
//	eth0-rxtx-0, eth0-rx-0, eth0-tx-0     vmxnet3_drv.c: vmxnet3_request_irqs
//	eth0-fp-0                             qede_main.c, bnx2x_cmn.c
//	eth0-Rx0, eth0-q0, eth0 CQ 0          cxgb4_main.c, be_main.c, bnad.c
//
// What configuration, mailboxes and links are served by has other words (config, misc, err,
// notify, event, FWeventq, mgmnt, admin), or the interface's bare name.
var queueName = lazy.Regexp(`^(?:L\d+-)?(?i:(txrx|tx-rx|rxtx|fp|slice|qp|q|)|(rx|rxq|input|cq)|(tx|txq|txc|xdp|` +
	`sq|output|txq))[-. \[]?(\d+)\]?$`)

// xenQueue matches what stands behind the device in the names of Xen's (vif0-q1-rx).
var xenQueue = lazy.Regexp(`^q(\d+)-(rx|tx)$`)

// wholeName matches names of queues' interrupts that say whose they are by their device's place
// on the bus behind an @. Their numbers are not the queues'.
//
//	mana_msi1@pci:7870:00:00.0     gdma_main.c: mana_gd_get_gic; mana_q1 before 7.1
//	gve-ntfy-blk0@pci:0000:00:04.0 gve_main.c: gve_alloc_notify_blocks
//	mlx5_comp0@pci:0000:3b:00.0    mlx5/core/pci_irq.c: mlx5_irq_alloc
//	mlx4-1@0000:3b:00.0            mlx4/eq.c: mlx4_assign_eq
//	eea-q0@0000:00:05.0            alibaba/eea/eea_pci.c
var wholeName = lazy.Regexp(`^(?:mana_(?:q|msi)|gve-ntfy-blk|mlx5_(?:sf_)?comp|mlx5_combined|mlx4-|eea-q)\d+$`)

// virtioName is a virtio device's, which virtio_pci puts before what it calls the interrupt.
var virtioName = lazy.Regexp(`^virtio\d+-`)

// virtioAlone is the name of the one interrupt that all of a virtio device has
// (virtio_pci_common.c: vp_find_vqs_intx).
var virtioAlone = lazy.Regexp(`^virtio\d+$`)

// roleOf reads the name of an interrupt of the owner's device.
func roleOf(name string, o owner) irqRole {
	r := irqRole{queue: -1}
	rest, ours := after(name, o.dev)
	for _, other := range o.others {
		if _, theirs := after(name, other); theirs && (!ours || len(other) > len(o.dev)) {
			return irqRole{queue: -1, others: true}
		}
	}
	r.ours, r.bare = ours, ours && rest == ""
	if !ours {
		place := ""
		if rest, place, _ = strings.Cut(name, "@"); place != "" && strings.TrimPrefix(place, "pci:") != o.bus {
			return r
		}
		if wholeName().MatchString(rest) {
			r.rx, r.tx = true, true
			return r
		}
		r.bare = virtioAlone().MatchString(name) || rest != name && rest == o.driver
		at, ok := after(rest, o.bus)
		switch v := virtioName().FindString(rest); {
		case ok:
			rest, r.bare = at, r.bare || rest == o.bus
		case v == "":
			return r // nothing says whose it is
		default:
			rest = rest[len(v):]
		}
	}
	if rest == "virtqueues" { // all of a device with too few interrupts
		r.rx, r.tx = true, true
		return r
	}
	rest = strings.TrimLeft(rest, "-_.: ")
	rx, tx, number := false, false, ""
	if m := queueName().FindStringSubmatch(rest); m != nil {
		rx, tx, number = m[3] == "", m[2] == "", m[4]
	} else if m := xenQueue().FindStringSubmatch(rest); m != nil {
		rx, tx, number = m[2] == "rx", m[2] == "tx", m[1]
	}
	if n, err := strconv.Atoi(number); err == nil {
		r.rx, r.tx, r.queue = rx, tx, n
	}
	return r
}

// after returns what stands in a name behind a word of it, such as an interface's.
func after(name, word string) (rest string, ok bool) {
	if word == "" {
		return "", false
	}
	for from := 0; ; {
		i := strings.Index(name[from:], word)
		if i < 0 {
			return "", false
		}
		i += from
		end := i + len(word)
		if (i == 0 || strings.ContainsRune("-_: ", rune(name[i-1]))) &&
			(end == len(name) || strings.ContainsRune("-_:.[ ", rune(name[end]))) {
			return name[end:], true
		}
		from = i + 1
	}
}
