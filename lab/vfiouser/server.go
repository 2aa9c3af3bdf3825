// SPDX-License-Identifier: MIT

package vfiouser

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"

	"golang.org/x/sys/unix"
)

// Device is a PCI device with MSI-X. The server holds its lock while it calls, and while it changes
// what the device reaches through its Host.
type Device interface {
	sync.Locker
	// Attach is called first, with what the device reaches the guest by.
	Attach(h *Host)
	// Config returns the PCI configuration space as it is at first.
	Config() []byte
	// BARs returns the sizes of the six base address registers' regions; 0: none.
	BARs() [6]uint64
	// Vectors returns the number of MSI-X vectors.
	Vectors() int
	// Read and Write are accesses of the guest's, within the size of the region.
	Read(bar int, off uint64, p []byte)
	Write(bar int, off uint64, p []byte)
	// WriteConfig is told what the guest writes into the configuration space, and may change it.
	WriteConfig(config []byte, off int, p []byte)
	// Reset makes the device what it was at first. The guest's memory stays.
	Reset()
}

// Host is what the device reaches the guest by, while it has its lock.
type Host struct {
	Memory
	vectors interrupts
}

// NewHost returns a host with memory that no client gave: fd's first size bytes, at address 0. It
// is for tests of devices.
func NewHost(fd int, size uint64) (*Host, error) {
	h := &Host{}
	if errno := h.add(0, size, 0, fd, true); errno != 0 {
		return nil, errno
	}
	return h, nil
}

// Close lets go of the memory and the interrupts.
func (h *Host) Close() {
	h.remove(0, 0, true)
	h.vectors.release()
}

// Raise signals an MSI-X vector.
func (h *Host) Raise(vector int) { h.vectors.raise(vector) }

// The regions and kinds of interrupts of a PCI device (include/uapi/linux/vfio.h).
const (
	regionROM, regionConfig, numRegions = 6, 7, 9
	irqMSIX, numIRQs                    = 2, 5
	configBytes                         = 256
)

// server is one connection.
type server struct {
	conn   *net.UnixConn
	dev    Device
	host   *Host
	config []byte
	bars   [6]uint64
}

// Serve shows dev to the client at the other end of conn, until that closes it, which is no error.
// Then the guest's memory is unmapped.
func Serve(conn *net.UnixConn, dev Device) error {
	s := &server{conn: conn, dev: dev, host: &Host{}, config: make([]byte, configBytes)}
	dev.Lock()
	s.host.vectors = newInterrupts(dev.Vectors())
	copy(s.config, dev.Config())
	s.bars = dev.BARs()
	dev.Attach(s.host)
	dev.Unlock()
	defer func() {
		dev.Lock()
		defer dev.Unlock()
		dev.Reset()
		s.host.Close()
	}()
	for first := true; ; first = false {
		m, err := readMessage(conn)
		if errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) || errors.Is(err, unix.ECONNRESET) {
			return nil
		}
		if err == nil && first && m.command != cmdVersion {
			m.closeFDs()
			err = fmt.Errorf("the client begins with command %d, not with its version", m.command)
		}
		if err != nil {
			return fmt.Errorf("vfio-user: %w", err)
		}
		data, errno := s.handle(m)
		m.closeFDs()
		if err := reply(conn, m, data, errno); err != nil {
			return nil // the client is gone
		}
	}
}

// handle does what a command says, and returns the data of the reply.
func (s *server) handle(m *message) ([]byte, unix.Errno) {
	if m.command == cmdVersion {
		return s.version(m.data)
	}
	s.dev.Lock()
	defer s.dev.Unlock()
	switch m.command {
	case cmdGetInfo:
		return s.info(m.data)
	case cmdRegionInfo:
		return s.regionInfo(m.data)
	case cmdIRQInfo:
		return s.irqInfo(m.data)
	case cmdSetIRQs:
		return nil, s.setIRQs(m)
	case cmdRead, cmdWrite:
		return s.access(m)
	case cmdDMAMap:
		return nil, s.dmaMap(m)
	case cmdDMAUnmap:
		return s.dmaUnmap(m.data)
	case cmdReset:
		s.dev.Reset()
		return nil, 0
	}
	return nil, unix.ENOTSUP
}

// version agrees to 0.x of the protocol, with the limits of this end.
func (s *server) version(b []byte) ([]byte, unix.Errno) {
	if len(b) < 4 || le.Uint16(b) != 0 {
		return nil, unix.ENOTSUP
	}
	caps, err := json.Marshal(map[string]any{"capabilities": map[string]any{
		"max_msg_fds": maxFDs, "max_data_xfer_size": maxTransfer, "max_dma_maps": maxMaps}})
	if err != nil {
		return nil, unix.EINVAL
	}
	out := append([]byte{0, 0, 0, 0}, caps...)
	le.PutUint16(out[2:], min(le.Uint16(b[2:]), 1))
	return append(out, 0), 0
}

func (s *server) info(b []byte) ([]byte, unix.Errno) {
	if len(b) < 16 {
		return nil, unix.EINVAL
	}
	const resets, pci = 1, 2
	return words(16, resets|pci, numRegions, numIRQs), 0
}

// words builds a reply of numbers of 32 bits.
func words(all ...uint32) (b []byte) {
	for _, w := range all {
		b = le.AppendUint32(b, w)
	}
	return b
}

func (s *server) regionInfo(b []byte) ([]byte, unix.Errno) {
	if len(b) < 32 || le.Uint32(b[8:]) >= numRegions {
		return nil, unix.EINVAL
	}
	index := le.Uint32(b[8:])
	const readable, writable = 1, 2
	flags, size := uint32(0), s.size(index)
	if size > 0 {
		flags = readable | writable
	}
	out := words(32, flags, index, 0)
	out = le.AppendUint64(out, size)
	return le.AppendUint64(out, 0), 0
}

// size returns a region's size, 0 for one that is not there.
func (s *server) size(region uint32) uint64 {
	switch {
	case region < regionROM:
		return s.bars[region]
	case region == regionConfig:
		return configBytes
	}
	return 0
}

func (s *server) irqInfo(b []byte) ([]byte, unix.Errno) {
	if len(b) < 16 || le.Uint32(b[8:]) >= numIRQs {
		return nil, unix.EINVAL
	}
	index := le.Uint32(b[8:])
	const byEventFD, noResize = 1, 8
	if index != irqMSIX {
		return words(16, 0, index, 0), 0
	}
	return words(16, byEventFD|noResize, index, uint32(len(s.host.vectors))), 0
}

// setIRQs takes the client's eventfds, or lets them go.
func (s *server) setIRQs(m *message) unix.Errno {
	if len(m.data) < 20 {
		return unix.EINVAL
	}
	const noData, eventFDs, trigger = 1, 4, 32
	flags, index := le.Uint32(m.data[4:]), le.Uint32(m.data[8:])
	start, count := le.Uint32(m.data[12:]), le.Uint32(m.data[16:])
	switch {
	case index != irqMSIX || flags&trigger == 0:
		return unix.EINVAL
	case flags&eventFDs != 0:
		return s.host.vectors.set(start, count, m.take())
	case flags&noData != 0 && count == 0:
		s.host.vectors.release()
		return 0
	}
	return unix.EINVAL
}

// access reads or writes a region.
func (s *server) access(m *message) ([]byte, unix.Errno) {
	if len(m.data) < 16 {
		return nil, unix.EINVAL
	}
	off, region, n := le.Uint64(m.data), le.Uint32(m.data[8:]), le.Uint32(m.data[12:])
	size := s.size(region)
	if uint64(n) > size || off > size-uint64(n) || n > maxTransfer {
		return nil, unix.EINVAL
	}
	out := append([]byte(nil), m.data[:16]...)
	if m.command == cmdRead {
		p := make([]byte, n)
		if region == regionConfig {
			copy(p, s.config[off:])
		} else {
			s.dev.Read(int(region), off, p)
		}
		return append(out, p...), 0
	}
	p := m.data[16:]
	if uint32(len(p)) != n {
		return nil, unix.EINVAL
	}
	if region == regionConfig {
		s.writeConfig(int(off), p)
		s.dev.WriteConfig(s.config, int(off), p)
	} else {
		s.dev.Write(int(region), off, p)
	}
	return out, 0
}

// writeConfig keeps what a guest may write: the command register. QEMU has the rest itself (base
// addresses, MSI-X).
func (s *server) writeConfig(off int, p []byte) {
	const command, end = 4, 6
	for i, b := range p {
		if at := off + i; at >= command && at < end {
			s.config[at] = b
		}
	}
}

func (s *server) dmaMap(m *message) unix.Errno {
	if len(m.data) < 32 || len(m.fds) > 1 {
		return unix.EINVAL
	}
	const writable = 2
	fd := -1
	if len(m.fds) == 1 {
		fd = m.fds[0]
	}
	b := m.data
	return s.host.add(le.Uint64(b[16:]), le.Uint64(b[24:]), le.Uint64(b[8:]), fd, le.Uint32(b[4:])&writable != 0)
}

func (s *server) dmaUnmap(b []byte) ([]byte, unix.Errno) {
	if len(b) < 24 {
		return nil, unix.EINVAL
	}
	const all = 2
	errno := s.host.remove(le.Uint64(b[8:]), le.Uint64(b[16:]), le.Uint32(b[4:])&all != 0)
	return b[:24], errno
}
