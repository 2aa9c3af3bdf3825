// SPDX-License-Identifier: MIT

// Package dmabuf makes memory that a NIC can reach, named by a dmabuf descriptor.
//
// [Memory] is what a data path gets. What makes it is a [Provider], a file each: the host's pages
// (udmabuf, heap), a graphics driver's objects (drm), whatever a program hands over (fd). All
// are in one list, [All], from which the options area and tx_area take their words.
package dmabuf
