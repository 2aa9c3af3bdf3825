// SPDX-License-Identifier: MIT

package lab

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/klauspost/compress/zstd"
)

const (
	maxVmlinux = 512 << 20 // bytes; Debian's has 65 million
	maxWindow  = 128 << 20 // what zstd --ultra -22 asks for, as kernels are packed
	maxNotes   = 1 << 20
)

// makeVmlinux unpacks the kernel beside its image, once. A machine that is emulated
// then does not unpack it at each boot, and needs no boot loader. Where there is none to
// be had the image will do.
func (c *cache) makeVmlinux(release string, log io.Writer) (path string) {
	path = c.path("kernels", release, "vmlinux")
	if c.has("kernels", release, "vmlinux") {
		return path
	}
	c.sweep(c.path("kernels", release))
	err := writeAtomic(path, 0o644, func(f *os.File) error {
		if err := unpackVmlinuz(f, c.path("kernels", release, "vmlinuz")); err != nil {
			return err
		}
		return checkPVH(f)
	})
	if err != nil {
		fmt.Fprintf(log, "lab: %s: unpack vmlinuz: %v; booting it packed, which is slower\n", release, err)
		return ""
	}
	return path
}

// unpackVmlinuz writes the kernel that a bzImage holds.
func unpackVmlinuz(w io.Writer, image string) error {
	f, err := os.Open(image)
	if err != nil {
		return err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return err
	}
	p, err := findPayload(f, st.Size())
	if err != nil {
		return err
	}
	return p.unpack(w, f)
}

// unpack streams the payload of the image r.
func (p payload) unpack(w io.Writer, r io.ReaderAt) error {
	if p.size > maxVmlinux {
		return fmt.Errorf("it claims %d bytes, more than %d", p.size, maxVmlinux)
	}
	var magic [4]byte
	if _, err := r.ReadAt(magic[:], p.off); err != nil {
		return err
	}
	if !bytes.Equal(magic[:], []byte{0x28, 0xb5, 0x2f, 0xfd}) { // RFC 8878
		return fmt.Errorf("not packed with zstd: it begins with % x", magic)
	}
	d, err := zstd.NewReader(io.NewSectionReader(r, p.off, p.len), zstd.WithDecoderConcurrency(1),
		zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
	if err != nil {
		return err
	}
	defer d.Close()
	n, err := io.Copy(w, io.LimitReader(d, p.size+1))
	if err == nil && n != p.size {
		err = fmt.Errorf("it has at least %d bytes but claims %d", n, p.size)
	}
	return err
}

// checkPVH returns an error unless QEMU can start the kernel by its PVH entry: an
// x86-64 ELF with a note that says where that is (include/xen/interface/elfnote.h).
func checkPVH(r io.ReaderAt) error {
	f, err := elf.NewFile(r)
	if err != nil {
		return err
	}
	if f.Class != elf.ELFCLASS64 || f.Machine != elf.EM_X86_64 {
		return fmt.Errorf("it is for %v %v", f.Machine, f.Class)
	}
	for _, p := range f.Progs {
		if p.Type != elf.PT_NOTE {
			continue
		}
		b, err := io.ReadAll(io.LimitReader(p.Open(), maxNotes))
		if err != nil {
			return err
		}
		if hasPVHNote(b) {
			return nil
		}
	}
	return errors.New("it has no PVH entry (CONFIG_PVH)")
}

// hasPVHNote looks through ELF notes: sizes of name and value, a type, then both, each
// filled up to four bytes.
func hasPVHNote(b []byte) bool {
	const physEntry32 = 18 // XEN_ELFNOTE_PHYS32_ENTRY
	fill := func(n uint32) uint64 { return (uint64(n) + 3) &^ 3 }
	for len(b) >= 12 {
		le := binary.LittleEndian
		name, value, kind := le.Uint32(b), le.Uint32(b[4:]), le.Uint32(b[8:])
		b = b[12:]
		all := fill(name) + fill(value)
		if all > uint64(len(b)) {
			return false
		}
		if kind == physEntry32 && value >= 4 && string(b[:name]) == "Xen\x00" {
			return true
		}
		b = b[all:]
	}
	return false
}
