// SPDX-License-Identifier: MIT

package gvnic

// adminQueue takes commands of 64 bytes from a ring in the guest's memory.
type adminQueue struct {
	addr   uint64
	length uint16 // bytes of the ring
	done   uint32 // commands done since the last reset
}

const commandBytes = 64

// The commands (enum gve_adminq_opcodes).
const (
	opDescribe     = 0x1
	opConfigure    = 0x2
	opCreateTX     = 0x5
	opCreateRX     = 0x6
	opDestroyTX    = 0x7
	opDestroyRX    = 0x8
	opDeconfigure  = 0x9
	opConfigureRSS = 0xa
	opSetParameter = 0xb
	opReportStats  = 0xc
	opLinkSpeed    = 0xd
	opTypes        = 0xe
	opVerifyDriver = 0xf
	opQueryRules   = 0x10
	opQueryRSS     = 0x12
	opExtended     = 0xff
	opFlowRule     = 0x101
)

// How a command went (enum gve_adminq_statuses).
const (
	passed        = 0x1
	exists        = 0xfffffff1
	precondition  = 0xfffffff5
	invalid       = 0xfffffff7
	notFound      = 0xfffffff8
	exhausted     = 0xfffffffc
	unimplemented = 0xfffffffe
)

// runAdmin does the commands up to the one with number last.
func (f *Function) runAdmin(last uint32) {
	n := uint32(f.admin.length) / commandBytes
	if n == 0 || n&(n-1) != 0 || last-f.admin.done > n {
		return
	}
	alone := last-f.admin.done == 1 // the driver makes all queues by one doorbell
	for f.admin.done != last {
		ring := f.host.Bytes(f.admin.addr, uint64(n)*commandBytes)
		if ring == nil {
			return // the driver finds that it takes too long
		}
		at := ring[f.admin.done%n*commandBytes:][:commandBytes]
		var c command
		copy(c[:], at) // the guest may write there meanwhile
		refused, hangs := f.fails(c.u32(0))
		if hangs {
			return // the driver finds that it takes too long
		}
		others, status := f.openRX(), uint32(precondition)
		if !refused {
			status = f.execute(c.u32(0), &c)
		}
		if id := c.u32(8); c.u32(0) == opCreateRX && alone && others > 0 && id < maxQueues {
			f.given(id) // a failed attempt is followed by one with the memory that was there before
		}
		be.PutUint32(at[4:], status)
		f.admin.done++
	}
}

// openRX counts the receive queues that are open.
func (f *Function) openRX() (n int) {
	for _, q := range f.rx {
		if q != nil {
			n++
		}
	}
	return n
}

// command is one, copied from the guest's memory.
type command [commandBytes]byte

func (c *command) u16(off int) uint16 { return be.Uint16(c[off:]) }
func (c *command) u32(off int) uint32 { return be.Uint32(c[off:]) }
func (c *command) u64(off int) uint64 { return be.Uint64(c[off:]) }

// execute does one command and says how it went.
func (f *Function) execute(opcode uint32, c *command) uint32 {
	switch opcode {
	case opDescribe:
		return f.describe(c)
	case opConfigure:
		return f.configure(c)
	case opDeconfigure:
		clear(f.tx[:])
		clear(f.rx[:])
		clear(f.irqs[:])
		f.format = false
		return passed
	case opCreateTX:
		return f.createTX(c)
	case opCreateRX:
		return f.createRX(c)
	case opDestroyTX:
		return destroy(&f.tx, c.u32(8))
	case opDestroyRX:
		return destroy(&f.rx, c.u32(8))
	case opConfigureRSS:
		return f.configureRSS(c)
	case opQueryRSS:
		return f.queryRSS(c)
	case opQueryRules:
		return f.queryRules(c)
	case opLinkSpeed:
		return f.write(c.u64(8), be.AppendUint64(nil, linkMbits))
	case opTypes:
		return f.types(c)
	case opReportStats, opSetParameter, opVerifyDriver:
		return passed
	case opExtended:
		return f.extended(c)
	}
	return unimplemented
}

// write puts b into the guest's memory.
func (f *Function) write(addr uint64, b []byte) uint32 {
	to := f.host.Bytes(addr, uint64(len(b)))
	if to == nil {
		return invalid
	}
	copy(to, b)
	return passed
}

// configure takes the interrupts' doorbells' place in the guest's memory, and tells their numbers
// there.
func (f *Function) configure(c *command) uint32 {
	const formatDQO = 3 // GVE_DQO_RDA_FORMAT
	addr, n, stride := c.u64(16), c.u32(28), c.u32(32)
	switch {
	case f.format:
		return exists
	case n > blocks || stride < 4 || stride > 4096 || c.u32(36) != 0 || c[40] != formatDQO:
		return invalid
	}
	for i := range n {
		if s := f.write(addr+uint64(i)*uint64(stride), be.AppendUint32(nil, bellIRQ+i)); s != passed {
			return s
		}
	}
	f.format = true
	return passed
}

// destroy lets a queue go.
func destroy[Q any](queues *[maxQueues]*Q, id uint32) uint32 {
	if id >= maxQueues || queues[id] == nil {
		return notFound
	}
	queues[id] = nil
	return passed
}

// extended does a command that is too long for the queue, and lies elsewhere.
func (f *Function) extended(c *command) uint32 {
	inner, n, addr := c.u32(8), c.u32(12), c.u64(16)
	if inner != opFlowRule {
		return unimplemented
	}
	if n != flowCommandBytes {
		return invalid
	}
	b := f.host.Bytes(addr, uint64(n))
	if b == nil {
		return invalid
	}
	return f.configureRule([flowCommandBytes]byte(b))
}
