// SPDX-License-Identifier: MIT

package guest

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Wake tells a machine whose state was kept in a file that it goes on from there.
type Wake struct {
	Time    time.Time `json:"time"`    // it is now
	Entropy []byte    `json:"entropy"` // that no other machine of the same state gets; may be empty
}

// rndReseedCRNG is RNDRESEEDCRNG of include/uapi/linux/random.h.
const rndReseedCRNG = 0x5207

// wake sets what the time in the file has made wrong: the time of day, and random
// numbers, which would be those of every machine of this state.
func wake(w *Wake) error {
	now, err := unix.TimeToTimespec(w.Time)
	if err != nil {
		return err
	}
	if err := unix.ClockSettime(unix.CLOCK_REALTIME, &now); err != nil {
		return fmt.Errorf("clock_settime: %w", err)
	}
	if len(w.Entropy) == 0 {
		return nil
	}
	f, err := os.OpenFile("/dev/urandom", os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.Write(w.Entropy); err != nil {
		return err
	}
	if err := unix.IoctlSetInt(int(f.Fd()), rndReseedCRNG, 0); err != nil {
		return fmt.Errorf("ioctl RNDRESEEDCRNG: %w", err)
	}
	return nil
}
