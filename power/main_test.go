// SPDX-License-Identifier: MIT

package power

import (
	"fmt"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// meterEnv makes this test binary a meter: "ticks" prints milliwatts ten times a
// second, as zcnvml does; "burns" prints 1 W, uses burnt of CPU time and then
// prints 2 W.
const meterEnv = "ZCBENCH_TEST_METER"

const burnt = 300 * time.Millisecond

func TestMain(m *testing.M) {
	switch os.Getenv(meterEnv) {
	case "":
		os.Exit(m.Run())
	case "ticks":
		printTicks("65000")
	case "burns":
		fmt.Println("1")
		cpu := func() time.Duration {
			var ts unix.Timespec
			unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &ts)
			return time.Duration(ts.Nano())
		}
		for begun := cpu(); cpu()-begun < burnt; {
		}
		printTicks("2")
	}
}

func printTicks(line string) {
	for range time.Tick(100 * time.Millisecond) {
		if _, err := fmt.Println(line); err != nil {
			return
		}
	}
}

// meterCommand is what runs the meter of a kind.
func meterCommand(t testing.TB, kind string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return meterEnv + "=" + kind + " exec " + quote(self)
}
