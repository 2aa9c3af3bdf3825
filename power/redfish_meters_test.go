// SPDX-License-Identifier: MIT

package power

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// bmcWith serves resources, by their paths below /redfish/v1/Chassis.
func bmcWith(t *testing.T, resources map[string]string) (spec string) {
	t.Helper()
	var members []redfishLink
	for path := range resources {
		if !strings.Contains(path, "/") {
			members = append(members, redfishLink{"/redfish/v1/Chassis/" + path})
		}
	}
	list, err := json.Marshal(map[string]any{"Members": members})
	if err != nil {
		t.Fatal(err)
	}
	bmc := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch body, ok := resources[strings.TrimPrefix(r.URL.Path, "/redfish/v1/Chassis/")]; {
		case r.URL.Path == "/redfish/v1/Chassis":
			w.Write(list)
		case ok:
			w.Write([]byte(body))
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	t.Cleanup(bmc.Close)
	return "redfish=" + bmc.URL + "?insecure=true"
}

const (
	withPower = `"Power": {"@odata.id": "/redfish/v1/Chassis/NAME/Power"}`
	withEnv   = `"EnvironmentMetrics": {"@odata.id": "/redfish/v1/Chassis/NAME/Env"}`
)

func chassis(name, has string, links string) string {
	return `{"@odata.id": "/redfish/v1/Chassis/` + name + `", "Links": {` + links + `}, ` + strings.ReplaceAll(has,
		"NAME", name) + `}`
}

func env(watts string) string { return `{"PowerWatts": {"Reading": ` + watts + `}}` }

func inside(name string) string {
	return `"ContainedBy": {"@odata.id": "/redfish/v1/Chassis/` + name + `"}`
}

// controls are as a server of Lenovo's has them: that of the server, and those of parts.
const controls = `{"PowerControl": [
	{"Name": "CPU Sub-system Power", "PowerConsumedWatts": 150, "RelatedItem": [{"@odata.id": "/redfish/v1/Systems/1/Processors/1"}]},
	{"Name": "Server Power Control", "PowerConsumedWatts": 344, "PowerMetrics": {"IntervalInMin": 60}, "RelatedItem": [{"@odata.id": "/redfish/v1/Systems/1"}, {"@odata.id": "/redfish/v1/Chassis/1"}]},
	{"Name": "Memory Sub-system Power", "PowerConsumedWatts": 40, "RelatedItem": [{"@odata.id": "/redfish/v1/Systems/1/Memory/1"}]}]}`

func TestRedfishMeters(t *testing.T) {
	for name, c := range map[string]struct {
		resources map[string]string
		option    string
		watts     float64 // 0: refused
		say       string
	}{
		"one of several controls says that it is the machine's": {map[string]string{"1": chassis("1", withPower, ""),
			"1/Power": controls}, "", 344, "Server Power Control"},
		"a control is named": {map[string]string{"1": chassis("1", withPower, ""), "1/Power": controls},
			"&meter=/redfish/v1/Chassis/1/Power#/PowerControl/0", 150, "PowerControl/0"},
		"controls that do not say": {map[string]string{"1": chassis("1", withPower, ""),
			"1/Power": `{"PowerControl": [{"Name": "A", "PowerConsumedWatts": 100}, {"Name": "B", ` +
				`"PowerConsumedWatts": 200}]}`}, "", 0,
			`Power#/PowerControl/0 ("A", 100 W), /redfish/v1/Chassis/1/Power#/PowerControl/1 ("B", 200 W)`},
		"only the second has a reading": {map[string]string{"1": chassis("1", withPower, ""),
			"1/Power": `{"PowerControl": [{"Name": "A"}, {"Name": "B", "PowerConsumedWatts": 200}]}`}, "", 200,
			"PowerControl/1"},
		"two chassis": {map[string]string{"A": chassis("A", withEnv, ""), "A/Env": env("300"),
			"B": chassis("B", withEnv, ""), "B/Env": env("310")}, "", 0,
			"/redfish/v1/Chassis/A/Env (300 W)"},
		"one of two is named": {map[string]string{"A": chassis("A", withEnv, ""), "A/Env": env("300"),
			"B": chassis("B", withEnv, ""), "B/Env": env("310")}, "&chassis=B", 310, "B/Env"},
		"one has the others in it": {map[string]string{"GPU": chassis("GPU", withEnv, inside("Tray")),
			"GPU/Env": env("500"), "Tray": chassis("Tray", `"Id": "Tray"`, inside("Node")),
			"Node":     chassis("Node", withEnv, `"ComputerSystems": [{"@odata.id": "/redfish/v1/Systems/1"}]`),
			"Node/Env": env("900")}, "", 900, "Node/Env"},
		"one has several machines in it": {map[string]string{"A": chassis("A", withEnv, inside("Rack")),
			"A/Env": env("300"), "B": chassis("B", withEnv, inside("Rack")), "B/Env": env("310"),
			"Rack": chassis("Rack", withEnv, `"ComputerSystems": [{"@odata.id": "/redfish/v1/Systems/1"}, `+
				`{"@odata.id": "/redfish/v1/Systems/2"}]`), "Rack/Env": env("640")}, "", 0, "3 power readings"},
		"a blade's BMC lists the enclosure of all blades": {map[string]string{
			"Blade": chassis("Blade", `"ChassisType": "Blade", `+withEnv,
				inside("Box")+`, "ComputerSystems": [{"@odata.id": "/redfish/v1/Systems/1"}]`), "Blade/Env": env("310"),
			"Box": chassis("Box", `"ChassisType": "Enclosure", `+withEnv,
				`"ComputerSystems": [{"@odata.id": "/redfish/v1/Systems/1"}]`), "Box/Env": env("2400")}, "", 0,
			"2 power readings, and the BMC does not say"},
		"only the enclosure of a sled has a reading": {map[string]string{
			"Sled": chassis("Sled", `"ChassisType": "Sled"`, inside("Box")),
			"Box":  chassis("Box", `"ChassisType": "Enclosure", `+withEnv, ""), "Box/Env": env("2400")}, "", 0,
			"not of this machine as a whole, or of others, too: /redfish/v1/Chassis/Box/Env (2400 W)"},
		"a blade of which the enclosure is not listed": {map[string]string{
			"1": chassis("1", `"ChassisType": "Blade", `+withEnv, inside("Box")), "1/Env": env("310")}, "", 310,
			"1/Env"},
		"a rack's own reading": {map[string]string{"R": chassis("R", `"ChassisType": "Rack", `+withEnv, ""),
			"R/Env": env("9000")}, "", 0, "or of others, too"},
		"a rack that is named": {map[string]string{"R": chassis("R", `"ChassisType": "Rack", `+withEnv, ""),
			"R/Env": env("9000")}, "&chassis=R", 9000, "R/Env"},
		"an enclosure with trays": {map[string]string{
			"Tray": chassis("Tray", `"ChassisType": "Module", `+withEnv, inside("Box")), "Tray/Env": env("700"),
			"Box": chassis("Box", `"ChassisType": "Enclosure", `+withEnv, ""), "Box/Env": env("2400")}, "", 2400,
			"Box/Env"},
		"the only reading is of the processors": {map[string]string{"1": chassis("1", withPower, ""),
			"1/Power": `{"PowerControl": [{"Name": "CPU Sub-system Power", "PowerConsumedWatts": 150, ` +
				`"RelatedItem": [{"@odata.id": "/redfish/v1/Systems/1/Processors/1"}]}]}`},
			"", 0, `not of this machine as a whole, or of others, too: ` +
				`/redfish/v1/Chassis/1/Power#/PowerControl/0 ("CPU Sub-system Power", 150 W)`},
		"by its context, it is of the memory": {map[string]string{"1": chassis("1", withPower, ""),
			"1/Power": `{"PowerControl": [{"PhysicalContext": "Memory", "PowerConsumedWatts": 40}]}`}, "", 0,
			"not of this machine as a whole"},
		"a sensor": {map[string]string{"1": chassis("1", `"Id": "1"`, ""),
			"1/S": `{"Reading": 222.5, "ReadingUnits": "W", "Name": "Total"}`}, "&meter=/redfish/v1/Chassis/1/S", 222.5,
			"Total"},
		"a sensor of volts": {map[string]string{"1": chassis("1", `"Id": "1"`, ""),
			"1/S": `{"Reading": 222.5, "ReadingUnits": "V"}`}, "&meter=/redfish/v1/Chassis/1/S", 0,
			`"V", and not in W`},
		"no such chassis": {map[string]string{"A": chassis("A", withEnv, ""), "A/Env": env("300")}, "&chassis=Q",
			0, "no such chassis"},
		"0 W": {map[string]string{"A": chassis("A", withEnv, ""), "A/Env": env("0")}, "", -1, "0 W"},
		"a state that is none": {map[string]string{"1": chassis("1", withPower, ""),
			"1/Power": `{"PowerControl": [{"PowerConsumedWatts": 200, "Status": {"State": "Disabled"}}]}`}, "", 200,
			"state is Disabled"},
		"another cannot be asked": {map[string]string{"A": chassis("A", withEnv, ""), "A/Env": env("300"),
			"B": "<html>"}, "", 300,
			"1 of the BMC's chassis could not be read"},
	} {
		t.Run(name, func(t *testing.T) {
			src, err := open(t, bmcWith(t, c.resources)+c.option)
			if c.watts == 0 {
				if err == nil || !strings.Contains(err.Error(), c.say) {
					t.Errorf("%v; want %q", err, c.say)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			v, err := readOne(t, src)
			if c.watts < 0 {
				if err == nil || !strings.Contains(err.Error(), c.say) {
					t.Errorf("%v, %v; want %q", v, err, c.say)
				}
				return
			}
			if says := src.Info().Says(); err != nil || float64(v) != c.watts*1e6 || !strings.Contains(says, c.say) {
				t.Errorf("%v, %v, %q; want %v, %q", v, err, says, c.watts, c.say)
			}
		})
	}
}

// The interval of a BMC's statistics is not that of its reading, unless it could be.
func TestRedfishIntervals(t *testing.T) {
	for text, want := range map[string]time.Duration{"1": time.Minute, "20": 0, "0": 0, "-5": 0, "1e300": 0,
		"525600": 0} {
		r, err := parsePower(
			[]byte(`{"PowerControl": [{"PowerConsumedWatts": 1, "PowerMetrics": {"IntervalInMin": ` + text + `}}]}`))
		if err != nil || r.averages != want {
			t.Errorf("%s: %v, %v", text, r.averages, err)
		}
	}
	for _, bad := range []string{"redfish=https://bmc?meter=x", "redfish=https://bmc?meter=",
		"redfish=https://bmc?meter=/a&chassis=1"} {
		if _, err := ParseSpec(bad); err == nil {
			t.Errorf("%s was taken", bad)
		}
	}
}

// What is to be given to --power stands as a shell takes it: a BMC chooses the paths of its meters.
func TestSpecsToBeGiven(t *testing.T) {
	for spec, want := range map[string]string{
		"redfish=ADDRESS?meter=/redfish/v1/Chassis/1/Power#/PowerControl/0": "redfish=ADDRESS?meter=/redfish/v1/Chassis/1/Power#/PowerControl/0",
		"snmp=raritan@ADDRESS?pdu=1&inlet=2":                                "'snmp=raritan@ADDRESS?pdu=1&inlet=2'",
		"hwmon?sensor=a/power1;b/power1":                                    "'hwmon?sensor=a/power1;b/power1'",
	} {
		if got := given(spec); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	hostile := &redfishChassis{meters: []redfishMeter{{path: "/a;$(reboot)"}}}
	if got := several([]*redfishChassis{hostile,
		hostile}).How; got != "name one: 'redfish=ADDRESS?meter=/a;$(reboot)'" {
		t.Error(got)
	}
}
