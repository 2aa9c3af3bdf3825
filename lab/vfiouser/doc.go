// SPDX-License-Identifier: MIT

// Package vfiouser shows a virtual machine a PCI device that is a process of ours: the server's
// side of the vfio-user protocol, which QEMU speaks since 10.1 (docs/interop/vfio-user.rst). What
// the device is, and does, is a [Device]; package gvnic has one.
//
// Of the protocol it has what QEMU's client uses: version, device, region and interrupt
// information, interrupts by eventfd, reads and writes of regions, mapping of the guest's memory
// by descriptor, reset. No region can be mapped, so the device sees each access.
package vfiouser
