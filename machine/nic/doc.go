// SPDX-License-Identifier: MIT

// Package nic reads and sets what bears on receiving at a network interface: header
// split, rings, channels, features, packet sizes, coalescing, NAPI, the CPUs of
// interrupts and queues, receive-side scaling, ntuple rules, the memory provider of
// a queue.
//
// A [Device] speaks generic netlink (families ethtool and netdev) and rtnetlink
// where the kernel has it, and the older ethtool ioctl for rules, the indirection
// table and driver statistics. It belongs to the network namespace of the thread
// that called [Open], wherever it is used later.
//
// What is set stays set. Package lease sets through [Device.Setting], and restores.
//
// The oldest kernel is 6.13, for header split by netlink with its threshold;
// what needs a newer one says so.
package nic
