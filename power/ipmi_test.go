// SPDX-License-Identifier: MIT

package power

import (
	"context"
	"encoding/hex"
	"errors"
	"strings"
	"testing"
	"time"
	"unsafe"
)

// The sizes are those of a C compiler over include/uapi/linux/ipmi.h, 64-bit;
// two of them are part of the ioctl numbers.
func TestIPMISizes(t *testing.T) {
	if a, b, c, d := unsafe.Sizeof(ipmiMsg{}), unsafe.Sizeof(ipmiReq{}), unsafe.Sizeof(ipmiRecv{}),
		unsafe.Sizeof(ipmiSystemAddr{}); a != 16 || b != 0x28 || c != 0x30 || d != 8 {
		t.Errorf("ipmi_msg %d, ipmi_req %d, ipmi_recv %d, ipmi_system_interface_addr %d", a, b, c, d)
	}
}

// frames is a BMC that plays recorded answers.
type frames struct {
	asked  []byte
	answer string // hexadecimal; "": none comes
}

func (f *frames) transact(ctx context.Context, netFn, cmd byte, data []byte) ([]byte, error) {
	f.asked = append([]byte{netFn, cmd}, data...)
	if f.answer == "" {
		return nil, errors.New("the BMC does not answer in time")
	}
	return hex.DecodeString(strings.ReplaceAll(f.answer, " ", ""))
}

func (f *frames) Close() error { return nil }

// 220 W now, 80..310 W, mean 210 W, period 5000 ms, active.
const dcmiFrame = "00 dc dc 00 50 00 36 01 d2 00 40 2a 9f 65 88 13 00 00 40"

func TestDCMI(t *testing.T) {
	bmc := &frames{answer: dcmiFrame}
	d, err := newIPMI(Spec{Name: "ipmi"}, bmc)
	if err != nil {
		t.Fatal(err)
	}
	if got := hex.EncodeToString(bmc.asked); got != "2c02dc010000" {
		t.Errorf("asked %s", got)
	}
	if v, err := readLong(t, d); err != nil || v != 220e6 || d.Info().Averages != 5*time.Second ||
		d.Info().Channels[0].Resolution != 1 {
		t.Errorf("%v, %v, %+v", v, err, d.Info())
	}
	for frame, say := range map[string]string{
		"c1": "(unknown command)", "00 dc dc 00": "not a DCMI", "": "in time", strings.Replace(dcmiFrame, "00 dc dc",
			"00 dd dc", 1): "not a DCMI",
		strings.Replace(dcmiFrame, "dc dc 00", "dc ff ff", 1): "no reading",
	} {
		bmc.answer = frame
		if _, err := readLong(t, d); err == nil || !strings.Contains(err.Error(), say) {
			t.Errorf("%q: %v, want %q", frame, err, say)
		}
	}
}

func FuzzDCMI(f *testing.F) {
	b, _ := hex.DecodeString(strings.ReplaceAll(dcmiFrame, " ", ""))
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) { parseDCMI(b) })
}

func TestNoBMC(t *testing.T) {
	if _, err := openIPMIDevice("/dev/nonexistent-ipmi"); fixOf(err) == "" {
		t.Errorf("%v", err)
	}
}

// OpenBMC's state bit says that it does not measure: the reading counts, in doubt. What a
// BMC says of itself is not believed where it cannot be.
func TestDCMISaysOfItself(t *testing.T) {
	for name, c := range map[string]struct {
		frame    string
		watts    int64
		averages time.Duration
		doubt    string // in the doubts, or in the error where there are no watts
	}{
		"OpenBMC": {"00 dc 3f 01 3f 01 3f 01 3f 01 40 2a 9f 65 01 00 00 00 02", 319, 0,
			"says that it does not measure"},
		"OpenBMC, all zero": {"00 dc 3f 01 3f 01 3f 01 3f 01 00 00 00 00 00 00 00 00 00", 319, 0,
			"says that it does not measure"},
		"inactive, and 0": {"00 dc 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00", 0, 0,
			"does not measure power"},
		"inactive, and none": {"00 dc ff ff 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00", 0, 0,
			"does not measure power"},
		"active, and 0":         {"00 dc 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 40", 0, 0, "0 W"},
		"statistics of 49 days": {"00 dc 3f 01 50 00 4f 01 d2 00 40 2a 9f 65 ff ff ff ff 40", 319, 0, ""},
		"period of 5 s": {"00 dc 3f 01 50 00 4f 01 d2 00 40 2a 9f 65 88 13 00 00 40", 319, 5 * time.Second,
			""},
		"beyond its own maximum": {"00 dc 3f 01 50 00 64 00 5a 00 40 2a 9f 65 88 13 00 00 40", 319, 5 * time.Second,
			"always between 80 and 100 W"},
		"a clock of 1970": {"00 dc 3f 01 50 00 4f 01 d2 00 05 00 00 00 88 13 00 00 40", 319, 5 * time.Second,
			""},
	} {
		d, err := newIPMI(Spec{Name: "ipmi"}, &frames{answer: c.frame})
		if c.watts == 0 {
			if err == nil || !strings.Contains(err.Error(), c.doubt) || strings.Contains(fixOf(err), "activate") {
				t.Errorf("%s: %v, fix %q", name, err, fixOf(err))
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		v, err := readLong(t, d)
		if i := d.Info(); err != nil || v != c.watts*1e6 || i.Averages != c.averages ||
			!strings.Contains(strings.Join(i.Doubts, ";"), c.doubt) || c.doubt == "" && len(i.Doubts) > 0 {
			t.Errorf("%s: %v, %v, %+v", name, v, err, i)
		}
	}
}
