package zcrx

// maxHeld is how many pieces of payload may be out of the NIC's hands at once.
// Their places are made beforehand: nothing is allocated per piece.
const maxHeld = 1 << 16

// piece is payload that the application has: a place in the area, as the kernel
// told it, and its length.
type piece struct {
	off uint64
	len uint32
}

// held are the pieces that the application has, oldest first.
type held struct {
	pieces [maxHeld]piece
	first  uint32 // runs over
	next   uint32
	bytes  int
}

func (h *held) count() int { return int(h.next - h.first) }
func (h *held) full() bool { return h.count() == maxHeld }

func (h *held) push(off uint64, n uint32) {
	h.pieces[h.next%maxHeld] = piece{off, n}
	h.next++
	h.bytes += int(n)
}

// oldest is the piece that pop removes; there must be one.
func (h *held) oldest() piece { return h.pieces[h.first%maxHeld] }

func (h *held) pop() {
	h.bytes -= int(h.oldest().len)
	h.first++
}
