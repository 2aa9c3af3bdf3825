// SPDX-License-Identifier: MIT

package power

import (
	"fmt"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/internal/await"
)

// meterEnv makes this test binary a meter: "ticks" prints milliwatts ten times a
// second, as zcnvml does; "burns" prints 1 W, uses burnt of CPU time and then
// prints 2 W.
const meterEnv = "ZCBENCH_TEST_METER"

// patient is how long the program waits for an instrument that is opened. Tests of instruments that
// answer wait until the test hangs.
var patient = readTime

const burnt = 300 * time.Millisecond

func TestMain(m *testing.M) {
	switch os.Getenv(meterEnv) {
	case "":
		readTime = enough
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
	for {
		if _, err := fmt.Println(line); err != nil {
			return
		}
		await.Pause("it prints about ten times a second", 100*time.Millisecond)
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
