// SPDX-License-Identifier: MIT

// Package lab is the test bench in a box: a virtual machine that boots an
// unmodified Debian kernel with the soft NIC, a pair of virtual Ethernet
// devices that can do zero-copy receive (header split, queue memory providers,
// steering), so that every data path of zcbench can be checked on a machine
// that has no such NIC.
//
// [Build] fills a cache folder from Debian's package archive: kernel image,
// module toolchain, softnic.ko. [Exec] boots the machine, runs one static
// program in it and brings back its output, its files and its exit status.
//
// Nothing measured in the lab is a statement about speed: without KVM the
// processor is emulated, and the "wire" is a memory copy. It shows whether a
// path works and whether it was really zero copy.
package lab
