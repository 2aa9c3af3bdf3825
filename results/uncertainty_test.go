// SPDX-License-Identifier: MIT

package results

import (
	"bytes"
	"encoding/csv"
	"math"
	"strconv"
	"testing"

	"github.com/zcbench/zcbench/plan"
)

// costly is a run of two hosts with costs and what is known of them.
func costly() Record {
	r := Record{Schema: SchemaVersion, RunID: "r", Cell: plan.Cell{ID: "tcp/tcp", RX: "tcp", TX: "tcp"}, Verdict: OK}
	for _, h := range []*Host{&r.SUT, &r.TG} {
		h.DurationS, h.Bytes, h.ThroughputGbps = new(10.0), new(uint64(20e9)), new(16.0)
		h.CPUBusyCores, h.CPUBusyU, h.CPUIdleCores, h.CPUIdleU = new(2.0), new(.03), new(.5), new(.04)
		h.PowerW, h.PowerIdleW, h.PowerSource, h.PowerScope = new(200.0), new(150.0), "rapl", "package"
		h.PowerU, h.PowerSharedU, h.PowerNetU = new(5.0), new(4.0), new(3.5)
	}
	r.SUT.Name, r.TG.Name = "a", "b"
	return r
}

func is(t *testing.T, what string, got *float64, want float64) {
	t.Helper()
	if got == nil || math.Abs(*got-want) > 1e-12*math.Abs(want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// By the share by which the cost of a run is uncertain, so are its return and its energy
// for each byte.
func TestUncertaintyOfCosts(t *testing.T) {
	r := costly()
	is(t, "net cores", r.SUT.CPUNetCores(), 1.5)
	is(t, "net cores, uncertain", r.SUT.CPUNetU(), .05)
	is(t, "J/GB", r.SUT.JoulePerGB(), 100)
	is(t, "J/GB, uncertain", r.SUT.JoulePerGBU(), 2.5)
	is(t, "net J/GB", r.SUT.NetJoulePerGB(), 25)
	is(t, "net J/GB, uncertain", r.SUT.NetJoulePerGBU(), 1.75)
	is(t, "on cores", r.ROIU(Receiver, CostCPU), 128*.03/2)
	is(t, "on watts", r.ROIU(Sender, CostPower), 256./200*5/200)
	is(t, "on all cores", r.ROIU(Total, CostCPU), 64*math.Hypot(.03, .03)/4)
	// Two instruments of one make are wrong alike by 4 W each, and by 3 W each apart.
	is(t, "on all watts", r.ROIU(Total, CostPower), .64*math.Hypot(8, math.Hypot(3, 3))/400)
	r.TG.PowerSource = "rapl=other"
	is(t, "on the watts of two makes", r.ROIU(Total, CostPower), .64*math.Hypot(5, 5)/400)
	r.Flags = []string{FlagSharedPower}
	is(t, "on the watts of one instrument", r.ROIU(Total, CostPower), 1.28*5/200)
	// A numerical derivative says the same.
	up := costly()
	*up.SUT.CPUBusyCores += .03
	if d := *r.ROI(Receiver, CostCPU, 2, 1) - *up.ROI(Receiver, CostCPU, 2, 1); math.Abs(d-*r.ROIU(Receiver,
		CostCPU)) > .02*d {
		t.Errorf("one standard uncertainty more of cores is %v less in return, not %v", d, *r.ROIU(Receiver, CostCPU))
	}
}

// What is not known has no uncertainty, and that is no zero.
func TestNoUncertainty(t *testing.T) {
	r := costly()
	r.TG.PowerU, r.TG.CPUBusyU, r.TG.CPUIdleCores = nil, nil, nil
	for _, cost := range []Cost{CostCPU, CostPower} {
		if r.ROIU(Total, cost) != nil || r.ROIU(Sender, cost) != nil || r.ROIU(Receiver, cost) == nil {
			t.Errorf("%s: %v, %v", cost, r.ROIU(Total, cost), r.ROIU(Sender, cost))
		}
	}
	if r.TG.CPUNetCores() != nil || r.TG.CPUNetU() != nil || r.TG.JoulePerGBU() != nil {
		t.Error("net cores without a rest, or energy's without the power's")
	}
	r.TG.PowerScope = "wall"
	if r.ROIU(Total, CostPower) != nil {
		t.Error("power of two scopes has an uncertain sum")
	}
}

// runs.csv has the uncertainty beside the value, in the row of whose it is, and what is
// read back is what was written.
func TestUncertaintyColumns(t *testing.T) {
	r := costly()
	*r.TG.CPUBusyU, *r.TG.CPUBusyCores = .1, 4
	var b bytes.Buffer
	if err := WriteRuns(&b, []Record{r}); err != nil {
		t.Fatal(err)
	}
	back, err := ReadRuns(bytes.NewReader(b.Bytes()))
	if err != nil || len(back) != 1 || *back[0].TG.CPUBusyU != .1 || *back[0].SUT.PowerSharedU != 4 ||
		*back[0].SUT.CPUIdleCores != .5 {
		t.Fatalf("%+v, %v", back, err)
	}
	lines, err := csv.NewReader(&b).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	at := func(line int, column string) float64 {
		for i, name := range lines[0] {
			if name == column {
				v, _ := strconv.ParseFloat(lines[line][i], 64)
				return v
			}
		}
		t.Errorf("no column %s", column)
		return 0
	}
	for _, x := range []struct {
		column  string
		sut, tg float64
	}{
		{"cpu_net_cores", 1.5, 3.5}, {"joule_per_gb_uncertainty", 2.5, 2.5}, {"net_joule_per_gb", 25, 25},
		{"roi_cpu_uncertainty", 128 * .03 / 2, 64 * .1 / 4},
		{"roi_cpu_total_uncertainty", 256. / 6 * math.Hypot(.03, .1) / 6, 256. / 6 * math.Hypot(.03, .1) / 6},
	} {
		if s, g := at(1, x.column), at(2, x.column); math.Abs(s-x.sut) > 1e-9 || math.Abs(g-x.tg) > 1e-9 {
			t.Errorf("%s: %v and %v, want %v and %v", x.column, s, g, x.sut, x.tg)
		}
	}
}
