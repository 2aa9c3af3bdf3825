// SPDX-License-Identifier: MIT

// Package gvnic is Google's virtual NIC as its driver in Linux (drivers/net/ethernet/google/gve)
// expects it, in the queue format that can do zero copy: DQO with raw addresses (RDA). A [Card] is
// two of them on one wire, in one guest, each served to QEMU over vfio-user (package vfiouser).
//
// What is here follows from what the driver of Linux 7.3.4 reads and writes: gve_register.h,
// gve_adminq.[ch], gve_desc_dqo.h, gve_rx_dqo.c, gve_tx_dqo.c, gve_main.c. A comment names the
// function where it matters. Where the driver leaves the device a choice, the comment says so.
//
// The guest is not trusted. Each address and length is held against the memory that the guest has,
// each queue has bounds, and what is wrong in a descriptor costs the guest its packet.
//
// The device is a witness of zero copy: it counts, for each queue, what it wrote into header
// buffers and what into payload buffers, and a guest may ask for it: package cardcounts.
package gvnic
