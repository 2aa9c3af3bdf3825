// SPDX-License-Identifier: MIT

package gvnic

// The registers of BAR 0 (struct gve_registers, gve_register.h).
const (
	regDeviceStatus = 0x00
	regDriverStatus = 0x04
	regMaxTX        = 0x08
	regMaxRX        = 0x0c
	regAdminBell    = 0x14
	regAdminCount   = 0x18
	regVersion      = 0x1f
	regAdminHigh    = 0x20
	regAdminLow     = 0x24
	regAdminLength  = 0x28
	regEnd          = 0x2a
)

const (
	statusLink  = 1 << 2
	statusReset = 1 << 4
	driverRun   = 1 << 0
	driverReset = 1 << 1
)

const (
	barRegisters = 0
	barDoorbells = 2
)

// The doorbells of BAR 2, each of four bytes; the driver is told their numbers.
const (
	bellTX  = 0
	bellRX  = bellTX + maxQueues
	bellIRQ = bellRX + maxQueues
	bellEnd = bellIRQ + blocks
)

// maxVersion bounds what is kept of what the driver writes, byte by byte (gve_write_version).
const maxVersion = 64

// Read implements vfiouser.Device. What the driver only writes is read as 0.
func (f *Function) Read(bar int, off uint64, p []byte) {
	clear(p)
	if bar != barRegisters || off >= regEnd {
		return
	}
	var b [regEnd]byte
	be.PutUint32(b[regDeviceStatus:], f.status)
	be.PutUint32(b[regMaxTX:], maxQueues)
	be.PutUint32(b[regMaxRX:], maxQueues)
	be.PutUint32(b[regAdminCount:], f.admin.done)
	copy(p, b[off:])
}

// Write implements vfiouser.Device.
func (f *Function) Write(bar int, off uint64, p []byte) {
	switch {
	case bar == barRegisters && off == regVersion && len(p) == 1 && len(f.version) < maxVersion:
		if len(f.version) == 0 { // a driver begins, whose interface has been given nothing
			clear(f.provided[:])
		}
		f.version = append(f.version, p[0])
	case bar == barRegisters && off == regAdminLength && len(p) == 2:
		f.admin.length = be.Uint16(p)
	case bar == barRegisters && len(p) == 4:
		f.writeRegister(off, be.Uint32(p))
	case bar == barDoorbells && len(p) == 4 && off%4 == 0:
		f.ring(uint32(off/4), le.Uint32(p))
	}
}

func (f *Function) writeRegister(off uint64, v uint32) {
	switch off {
	case regAdminHigh:
		f.admin.addr = f.admin.addr&0xffffffff | uint64(v)<<32
	case regAdminLow:
		f.admin.addr = f.admin.addr&^0xffffffff | uint64(v)
	case regDriverStatus:
		if v&driverReset != 0 {
			f.reset()
		}
		if v&driverRun != 0 {
			f.status &^= statusReset
			f.begin()
		}
	case regAdminBell:
		f.runAdmin(v)
	}
}

// ring takes a doorbell: what there is to send, which buffers there are, or that a block's
// interrupt may go off.
func (f *Function) ring(bell, v uint32) {
	switch {
	case bell < bellRX:
		if q := f.tx[bell-bellTX]; q != nil {
			q.tail = v & q.mask
			f.card.kick()
		}
	case bell < bellIRQ:
		if q := f.rx[bell-bellRX]; q != nil {
			q.tail = v & q.mask
			f.drain(q)
		}
	case bell < bellEnd:
		const enable = 1
		if v&enable != 0 {
			f.arm(bell - bellIRQ)
		}
	}
}
