// SPDX-License-Identifier: MIT

package power

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// mockups are resources as DMTF's schemas have them.
var mockups = map[string]string{
	"/redfish/v1/Chassis": `{"@odata.id": "/redfish/v1/Chassis", "@odata.type": "#ChassisCollection.ChassisCollection", "Name": "Chassis Collection",
		"Members@odata.count": 2, "Members": [{"@odata.id": "/redfish/v1/Chassis/Blade"}, {"@odata.id": "/redfish/v1/Chassis/1U"}]}`,
	"/redfish/v1/Chassis/Blade": `{"@odata.id": "/redfish/v1/Chassis/Blade", "@odata.type": ` +
		`"#Chassis.v1_21_0.Chassis", "Id": "Blade", "Name": "no sensors", "ChassisType": "Blade"}`,
	"/redfish/v1/Chassis/1U": `{"@odata.id": "/redfish/v1/Chassis/1U", "@odata.type": "#Chassis.v1_21_0.Chassis", "Id": "1U", "Name": "Computer System Chassis",
		"EnvironmentMetrics": {"@odata.id": "/redfish/v1/Chassis/1U/EnvironmentMetrics"}, "Power": {"@odata.id": "/redfish/v1/Chassis/1U/Power"}}`,
	"/redfish/v1/Chassis/1U/EnvironmentMetrics": `{"@odata.type": "#EnvironmentMetrics.v1_3_0.EnvironmentMetrics", "Id": "EnvironmentMetrics", "Name": "Chassis Environment Metrics",
		"PowerWatts": {"DataSourceUri": "/redfish/v1/Chassis/1U/Sensors/TotalPower", "Reading": 374.25}, "EnergykWh": {"Reading": 325675}}`,
	"/redfish/v1/Chassis/1U/Power": `{"@odata.type": "#Power.v1_7_1.Power", "Id": "Power", "Name": "Power",
		"PowerControl": [{"@odata.id": "/redfish/v1/Chassis/1U/Power#/PowerControl/0", "MemberId": "0", "Name": "System Input Power", "PowerConsumedWatts": 344,
		"PowerCapacityWatts": 800, "PowerMetrics": {"IntervalInMin": 1, "MinConsumedWatts": 271, "MaxConsumedWatts": 489, "AverageConsumedWatts": 319}}]}`,
}

type bmcMock struct {
	*httptest.Server
	status  atomic.Int32 // of readings; 0: 200
	hide    atomic.Value // a path that is not there
	replace atomic.Value // body of readings, "" for the mockup's
	hang    atomic.Bool
	ca      string
}

func redfishServer(t testing.TB) *bmcMock {
	b := &bmcMock{}
	b.hide.Store("")
	b.replace.Store("")
	b.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, pass, _ := r.BasicAuth()
		reading := strings.HasSuffix(r.URL.Path, "Metrics") || strings.HasSuffix(r.URL.Path, "Power")
		body, ok := mockups[r.URL.Path]
		switch s := b.status.Load(); {
		case user != "admin" || pass != "s3cret":
			w.WriteHeader(http.StatusUnauthorized)
		case !ok || r.URL.Path == b.hide.Load():
			w.WriteHeader(http.StatusNotFound)
		case reading && b.hang.Load():
			<-r.Context().Done()
		case reading && s != 0:
			w.WriteHeader(int(s))
		default:
			if x := b.replace.Load().(string); reading && x != "" {
				body = x
			}
			w.Write([]byte(body))
		}
	}))
	t.Cleanup(b.CloseClientConnections)
	t.Cleanup(b.Close)
	b.ca = filepath.Join(t.TempDir(), "ca.pem")
	write(t, b.ca, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: b.Certificate().Raw})))
	return b
}

func TestRedfish(t *testing.T) {
	b := redfishServer(t)
	t.Setenv("ZCBENCH_REDFISH_USER", "admin")
	t.Setenv("ZCBENCH_REDFISH_PASSWORD", "s3cret")
	spec := "redfish=" + b.URL + "?ca=" + b.ca
	src := mustOpen(t, spec)
	if v, err := readOne(t, src); err != nil || v != 374_250_000 {
		t.Errorf("%v, %v", v, err)
	}
	if d := src.Info().Device; !strings.Contains(d, "EnvironmentMetrics") ||
		!strings.Contains(d, "Sensors/TotalPower") {
		t.Errorf("device %q", d)
	}
	for name, tt := range map[string]struct {
		set, reset func()
		say        string
	}{
		"refuses": {func() { b.status.Store(503) }, func() { b.status.Store(0) }, "503"},
		"garbage": {func() { b.replace.Store("<html>") }, func() { b.replace.Store("") }, "not JSON"},
		"null": {func() { b.replace.Store(`{"PowerWatts":{"Reading":null}}`) }, func() { b.replace.Store("") },
			"no reading"},
		"jumps": {func() { b.replace.Store(`{"PowerWatts":{"Reading":1e9}}`) }, func() { b.replace.Store("") },
			"implausible"},
		"hangs": {func() { b.hang.Store(true) }, func() { b.hang.Store(false) }, "no answer in time"},
		"disconnects": {func() { b.CloseClientConnections(); b.status.Store(500) }, func() { b.status.Store(0) },
			"500"},
	} {
		tt.set()
		if _, err := readWithin(t, src, patience(tt.say)); err == nil || !strings.Contains(err.Error(), tt.say) ||
			strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v, want %q", name, err, tt.say)
		}
		tt.reset()
		if v, err := readOne(t, src); err != nil || v != 374_250_000 {
			t.Errorf("after %s: %v, %v", name, v, err)
		}
	}
	b.hide.Store("/redfish/v1/Chassis/1U/EnvironmentMetrics")
	old := mustOpen(t, spec)
	if v, err := readOne(t, old); err != nil || v != 344e6 || old.Info().Averages != time.Minute {
		t.Errorf("an older BMC: %v, %v, averages over %v", v, err, old.Info().Averages)
	}
}

func TestRedfishTrust(t *testing.T) {
	b := redfishServer(t)
	t.Setenv("ZCBENCH_REDFISH_USER", "admin")
	t.Setenv("ZCBENCH_REDFISH_PASSWORD", "s3cret")
	if _, err := open(t, "redfish="+b.URL); err == nil || !strings.Contains(err.Error(), "not trusted") ||
		!strings.Contains(fixOf(err), "ca=") {
		t.Errorf("an unknown certificate: %v", err)
	}
	mustOpen(t, "redfish="+b.URL+"?insecure=true")
	t.Setenv("ZCBENCH_REDFISH_PASSWORD", "wrong-pass")
	if _, err := open(t, "redfish="+b.URL+"?ca="+b.ca); err == nil || !strings.Contains(err.Error(), "401") ||
		strings.Contains(err.Error(), "wrong-pass") {
		t.Errorf("a wrong password: %v", err)
	}
	file := filepath.Join(t.TempDir(), "secrets")
	write(t, file, "# of the BMC\nuser = admin\npassword = s3cret\n")
	if _, err := open(t, "redfish="+b.URL+"?ca="+b.ca+"&secrets="+file); err == nil ||
		!strings.Contains(fixOf(err), "chmod 600") {
		t.Errorf("secrets that others may read: %v", err)
	}
	if err := os.Chmod(file, 0o600); err != nil {
		t.Fatal(err)
	}
	mustOpen(t, "redfish="+b.URL+"?ca="+b.ca+"&secrets="+file)
	if _, err := ParseSpec("redfish=https://admin:s3cret@bmc"); err == nil || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("a password in the address: %v", err)
	}
}

// The password goes in the clear only where the user says so.
func TestRedfishInTheClear(t *testing.T) {
	var asked atomic.Int32
	plain := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		w.Write([]byte(mockups[r.URL.Path]))
	}))
	t.Cleanup(plain.Close)
	t.Setenv("ZCBENCH_REDFISH_USER", "admin")
	t.Setenv("ZCBENCH_REDFISH_PASSWORD", "s3cret")
	for _, spec := range []string{"redfish=" + plain.URL, "redfish=" + plain.URL + "?insecure=false",
		"redfish=HTTP" + strings.TrimPrefix(plain.URL, "http")} {
		if _, err := ParseSpec(spec); err == nil || !strings.Contains(err.Error(), "in the clear") ||
			!strings.Contains(err.Error(), "insecure=true") {
			t.Errorf("%s: %v", spec, err)
		}
	}
	if _, err := Open(Spec{Name: "redfish", Target: plain.URL}); err == nil || asked.Load() > 0 {
		t.Errorf("%v, asked %d times", err, asked.Load())
	}
	if _, err := ParseSpec("redfish=https://bmc?insecure=yes"); err == nil ||
		!strings.Contains(err.Error(), `insecure="yes": must be true or false`) {
		t.Errorf("insecure=yes: %v", err)
	}
	src := mustOpen(t, "redfish="+plain.URL+"?insecure=true")
	if v, err := readOne(t, src); err != nil || v != 374_250_000 {
		t.Errorf("%v, %v", v, err)
	}
}
