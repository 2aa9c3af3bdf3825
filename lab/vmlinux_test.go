// SPDX-License-Identifier: MIT

package lab

import (
	"bytes"
	"compress/gzip"
	"debug/elf"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// note is an ELF note.
func note(name string, kind uint32, value []byte) []byte {
	fill := func(b []byte) []byte { return append(b, make([]byte, -len(b)&3)...) }
	le := binary.LittleEndian
	b := le.AppendUint32(nil, uint32(len(name)+1))
	b = le.AppendUint32(b, uint32(len(value)))
	b = le.AppendUint32(b, kind)
	return append(b, append(fill([]byte(name+"\x00")), fill(value)...)...)
}

// kernelELF is a kernel with nothing but notes.
func kernelELF(machine elf.Machine, notes ...[]byte) []byte {
	h := elf.Header64{Type: uint16(elf.ET_EXEC), Machine: uint16(machine), Version: 1, Ehsize: 64,
		Phoff: 64, Phentsize: 56, Phnum: 1, Shentsize: 64}
	copy(h.Ident[:], elf.ELFMAG)
	h.Ident[elf.EI_CLASS], h.Ident[elf.EI_DATA], h.Ident[elf.EI_VERSION] = 2, 1, 1
	all := bytes.Join(notes, nil)
	p := elf.Prog64{Type: uint32(elf.PT_NOTE), Off: 120, Filesz: uint64(len(all)), Memsz: uint64(len(all)), Align: 4}
	var b bytes.Buffer
	binary.Write(&b, binary.LittleEndian, &h)
	binary.Write(&b, binary.LittleEndian, &p)
	b.Write(all)
	return b.Bytes()
}

func packZstd(t *testing.T, b []byte) []byte {
	t.Helper()
	e, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	return e.EncodeAll(b, nil)
}

func packGzip(b []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	w.Write(b)
	w.Close()
	return out.Bytes()
}

var (
	pvhNote   = note("Xen", 18, make([]byte, 8))
	otherNote = note("Xen", 6, []byte("linux"))
)

// withImage is a cache with the image of one kernel.
func withImage(t *testing.T, image []byte) *cache {
	t.Helper()
	c := &cache{dir: t.TempDir()}
	if err := writeFileAtomic(c.path("kernels", "7.0", "vmlinuz"), image, 0o644); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestMakeVmlinux(t *testing.T) {
	kernel := kernelELF(elf.EM_X86_64, otherNote, pvhNote)
	c := withImage(t, bzImage(packZstd(t, kernel), len(kernel)))
	stale := c.path("kernels", "7.0", tempPrefix+"1")
	if err := os.WriteFile(stale, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	path := c.makeVmlinux("7.0", &log)
	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, kernel) || log.Len() > 0 {
		t.Fatalf("%d bytes, %v; log: %s", len(got), err, &log)
	}
	if st, _ := os.Stat(path); st.Mode() != 0o644 {
		t.Errorf("its mode is %v", st.Mode())
	}
	if _, err := os.Stat(stale); !os.IsNotExist(err) {
		t.Errorf("what an interrupted run left: %v", err)
	}
	// A second time the image is not read.
	if err := os.Remove(c.path("kernels", "7.0", "vmlinuz")); err != nil {
		t.Fatal(err)
	}
	if again := c.makeVmlinux("7.0", &log); again != path || log.Len() > 0 {
		t.Errorf("again: %q; log: %s", again, &log)
	}
}

// What cannot be unpacked, or not be started so, leaves the image in use and no file.
func TestMakeVmlinuxKeepsImage(t *testing.T) {
	good := kernelELF(elf.EM_X86_64, pvhNote)
	packed := packZstd(t, good)
	noPVH, arm := kernelELF(elf.EM_X86_64, otherNote, note("GNU", 18, make([]byte, 8))),
		kernelELF(elf.EM_AARCH64, pvhNote)
	for _, c := range []struct {
		name  string
		image []byte
		want  string
	}{
		{"no image", []byte("no image"), "boot header"},
		{"gzip", bzImage(packGzip(good), len(good)), "begins with 1f 8b"},
		{"cut", bzImage(packed[:len(packed)-9], len(good)), "EOF"},
		{"spoilt", bzImage(append(packed[:len(packed)-1:len(packed)-1], packed[len(packed)-1]^1), len(good)), "CRC"},
		{"more than it says", bzImage(packed, len(good)-1), "claims"},
		{"less than it says", bzImage(packed, len(good)+1), "claims"},
		{"too much", bzImage(packed, maxVmlinux+1), "more than"},
		{"no ELF", bzImage(packZstd(t, []byte("no kernel at all")), 16), "bad magic"},
		{"other processor", bzImage(packZstd(t, arm), len(arm)), "EM_AARCH64"},
		{"no PVH", bzImage(packZstd(t, noPVH), len(noPVH)), "no PVH"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cache := withImage(t, c.image)
			var log strings.Builder
			if path := cache.makeVmlinux("7.0", &log); path != "" || !strings.Contains(log.String(), c.want) {
				t.Errorf("%q; log %q, want %q", path, &log, c.want)
			}
			left, _ := filepath.Glob(cache.path("kernels", "7.0", "*"))
			hidden, _ := filepath.Glob(cache.path("kernels", "7.0", ".*"))
			if len(left) != 1 || len(hidden) != 0 {
				t.Errorf("left: %q %q", left, hidden)
			}
		})
	}
}

func FuzzPVHNote(f *testing.F) {
	f.Add(append(otherNote, pvhNote...))
	f.Add(pvhNote[:13])
	f.Fuzz(func(t *testing.T, b []byte) {
		if hasPVHNote(b) && !bytes.Contains(b, []byte("Xen\x00")) {
			t.Error("found where there is none")
		}
	})
}

// Only a machine that is emulated boots the unpacked kernel.
func TestKernelToBoot(t *testing.T) {
	for _, c := range []struct {
		cfg  vmConfig
		want string
		bios bool
	}{
		{vmConfig{vmlinuz: "z", vmlinux: "x"}, "x", (*emulator)(nil).qboot() != ""},
		{vmConfig{vmlinuz: "z", vmlinux: "x", counts: true}, "x", (*emulator)(nil).qboot() != ""},
		{vmConfig{vmlinuz: "z", vmlinux: "x", kvm: true}, "z", false},
		{vmConfig{vmlinuz: "z"}, "z", false},
	} {
		args := " " + strings.Join(c.cfg.args(), " ") + " "
		if !strings.Contains(args, " -kernel "+c.want+" ") || strings.Contains(args, " -bios ") != c.bios {
			t.Errorf("%+v: %s", c.cfg, args)
		}
	}
}
