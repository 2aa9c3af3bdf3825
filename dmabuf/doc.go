// Package dmabuf makes memory that both a NIC and this process can reach, named
// by a dmabuf descriptor.
package dmabuf
