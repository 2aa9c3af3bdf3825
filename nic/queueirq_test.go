package nic

import (
	"testing"

	"github.com/mdlayher/netlink"
)

func TestDecodeIRQ(t *testing.T) {
	ae := netlink.NewAttributeEncoder()
	ae.Uint32(napiIfindex, 7)
	ae.Uint32(napiIRQ, 139)
	b, err := ae.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if irq, err := decodeIRQ(b); err != nil || irq != 139 {
		t.Errorf("%d, %v", irq, err)
	}
	if irq, err := decodeIRQ(b[:8]); err != nil || irq != 0 {
		t.Errorf("without interrupt: %d, %v", irq, err)
	}
	if _, err := decodeIRQ(b[:10]); err == nil {
		t.Error("cut off: no error")
	}
}

// FuzzDecodeIRQ: any answer of the kernel decodes or is an error.
func FuzzDecodeIRQ(f *testing.F) {
	f.Add([]byte{8, 0, 3, 0, 1, 0, 0, 0})
	f.Add([]byte{5, 0, 3, 0, 1, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) { _, _ = decodeIRQ(b) })
}
