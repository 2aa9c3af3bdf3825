// SPDX-License-Identifier: MIT

// Package dmabuf makes memory that both a NIC and this process can reach, named
// by a dmabuf descriptor.
//
// [Memory] is what a data path asks of such memory; [Udmabuf] has it of the
// host's own pages. Memory of a GPU can join: it has a descriptor and a size, and
// no bytes that the CPU could read.
package dmabuf
