package power

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// The sampler accounts for every source, all at once at 10 Hz or as fast as each
// goes. What is aimed at, half a percent of a core, is logged and not asked for:
// the race detector doubles it, and a machine with other work swells it. The
// bound is that of a source that spins.
func TestSamplerCost(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	dir := t.TempDir()
	write(t, dir+"/hwmon0/name", "power_meter\n")
	write(t, dir+"/hwmon0/power1_average", "143500000\n")
	cap := powercap(t, 262143328850)
	var rl atomic.Value
	rl.Store("Last 1 samples\r\n" + fmt.Sprintf(ptdLine, "22.97"))
	daemon := ptd(t, &rl, nil)
	meter := serveLines(t, "\n", func(string) string { return "1.2345E+02" })
	bmc := redfishServer(t)
	t.Setenv("ZCBENCH_REDFISH_USER", "admin")
	t.Setenv("ZCBENCH_REDFISH_PASSWORD", "s3cret")
	t.Setenv("ZCBENCH_SNMP_COMMUNITY", "s3cretcomm")
	specs := []string{"rapl?root=" + cap, "hwmon?root=" + dir, "ptdaemon=" + daemon.addr, "scpi=" + meter.addr, "redfish=" + bmc.URL + "?ca=" + bmc.ca,
		"command=while :; do echo 100; sleep 1; done", "snmp=apc@" + startSNMPD(t).addr + "?outlet=3"}
	gpus := filepath.Join(dir, "zcnvml")
	write(t, gpus, "#!/bin/sh\n[ \"$1\" = --list ] && echo GPU && exit\nwhile :; do echo 65000; sleep 1; done\n")
	if err := os.Chmod(gpus, 0o755); err != nil {
		t.Fatal(err)
	}
	specs = append(specs, "nvml?helper="+gpus)
	var best float64
	for try := range 2 {
		var sources []Source
		for _, s := range specs {
			src, err := open(t, s)
			if err != nil {
				t.Fatal(err)
			}
			sources = append(sources, src)
		}
		dcmi, err := newIPMI(Spec{Name: "ipmi"}, &frames{answer: dcmiFrame})
		if err != nil {
			t.Fatal(err)
		}
		s := Start(append(sources, dcmi), 100*time.Millisecond)
		time.Sleep(3 * time.Second)
		var sum float64
		var said []string
		for _, c := range s.Cost() {
			if c.Reads == 0 || c.Cores <= 0 {
				t.Errorf("%s: %d reads cost %v cores", c.Name, c.Reads, c.Cores)
			}
			sum += c.Cores
			said = append(said, fmt.Sprintf("%.8s %.4f %% (%d reads)", c.Name, 100*c.Cores, c.Reads))
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		t.Logf("%.3f %% of a core: %s", 100*sum, strings.Join(said, ", "))
		if try == 0 || sum < best {
			best = sum
		}
	}
	if best <= 0 || best > 0.05 {
		t.Errorf("sampling costs %.3f %% of a core", 100*best)
	}
}
