// SPDX-License-Identifier: MIT

package power

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/internal/await"
)

// snmpd runs net-snmp's agent with the objects of an APC and a Raritan unit.
type snmpd struct {
	t    testing.TB
	addr string
	dir  string
	cmd  *exec.Cmd
}

func startSNMPD(t testing.TB) *snmpd {
	t.Helper()
	path := "/usr/sbin/snmpd"
	if _, err := os.Stat(path); err != nil {
		t.Skip("needs snmpd: apt-get install snmpd")
	}
	l, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.LocalAddr().String()
	l.Close()
	d := &snmpd{t: t, addr: addr, dir: t.TempDir()}
	write(t, filepath.Join(d.dir, "snmpd.conf"), `
rocommunity s3cretcomm 127.0.0.1
createUser meter SHA authpass123 AES privpass123
rouser meter priv
override .1.3.6.1.4.1.318.1.1.26.9.4.3.1.7.3 integer 142
override .1.3.6.1.4.1.318.1.1.26.9.4.3.1.7.4 integer 138
override .1.3.6.1.4.1.318.1.1.26.4.3.1.5.1 integer 57
override .1.3.6.1.4.1.13742.6.5.4.3.1.4.1.7.5 uinteger 2435
override .1.3.6.1.4.1.13742.6.3.5.4.1.7.1.7.5 uinteger 1
override .1.3.6.1.4.1.13742.6.5.2.3.1.4.1.1.5 uinteger 512
override .1.3.6.1.4.1.13742.6.3.3.4.1.7.1.1.5 uinteger 0
override .1.3.6.1.4.1.13742.6.5.2.3.1.4.2.1.5 uinteger 2880
override .1.3.6.1.4.1.13742.6.3.3.4.1.7.2.1.5 uinteger 1
override .1.3.6.1.4.1.99999.1.1 octet_str "3050"
override .1.3.6.1.4.1.99999.1.2 octet_str "off"
override .1.3.6.1.4.1.99999.1.3 integer -1
`)
	d.start()
	t.Cleanup(d.stop)
	return d
}

func (d *snmpd) start() {
	d.cmd = exec.Command("/usr/sbin/snmpd", "-f", "-C", "-c", filepath.Join(d.dir, "snmpd.conf"), "-Lf",
		filepath.Join(d.dir, "log"), "-p", filepath.Join(d.dir, "pid"), "udp:"+d.addr)
	d.cmd.Env = append(os.Environ(), "SNMP_PERSISTENT_DIR="+filepath.Join(d.dir, "persistent"), "MIBS=")
	d.cmd.SysProcAttr = &unix.SysProcAttr{Pdeathsig: unix.SIGKILL}
	if err := d.cmd.Start(); err != nil {
		d.t.Fatal(err)
	}
	s, _ := ParseSpec("snmp=oid@" + d.addr + "?oid=.1.3.6.1.4.1.318.1.1.26.9.4.3.1.7.3")
	var err error
	if !await.So(func() bool {
		var src Source
		if src, err = Open(s); err == nil {
			src.Close()
		}
		return err == nil
	}) {
		log, _ := os.ReadFile(filepath.Join(d.dir, "log"))
		d.t.Fatalf("snmpd does not answer: %v\n%s", err, log)
	}
}

// answered is what f has of snmpd, however busy the machine is: the source asks twice and waits a
// second each time.
func answered[T any](f func() (T, error)) (v T, err error) {
	await.So(func() bool {
		v, err = f()
		return err == nil || !strings.Contains(err.Error(), "no answer in time")
	})
	return v, err
}

// openAnswered opens a source of snmpd's.
func openAnswered(t *testing.T, spec string) (Source, error) {
	t.Helper()
	return answered(func() (Source, error) { return open(t, spec) })
}

// readAnswered is a reading of snmpd's.
func readAnswered(t *testing.T, src Source) (int64, error) {
	t.Helper()
	return answered(func() (int64, error) { return readLong(t, src) })
}

func (d *snmpd) stop() {
	if d.cmd != nil {
		d.cmd.Process.Kill()
		d.cmd.Wait()
		d.cmd = nil
	}
}

func TestSNMP(t *testing.T) {
	t.Setenv("ZCBENCH_SNMP_COMMUNITY", "s3cretcomm")
	d := startSNMPD(t)
	for spec, want := range map[string]int64{
		"snmp=apc@%s?outlet=3":                                          142e6,
		"snmp=apc@%s?outlet=3;4":                                        280e6,
		"snmp=apc@%s":                                                   570e6,
		"snmp=raritan@%s?outlet=7&pdu=1":                                243_500_000,
		"snmp=raritan@%s?pdu=1":                                         512e6,
		"snmp=raritan@%s?pdu=2":                                         288e6,
		"snmp=raritan@%s?pdu=1;2&inlet=1":                               800e6,
		"snmp=oid@%s?oid=1.3.6.1.4.1.99999.1.1&scale=0.1":               305e6,
		"snmp=oid@%s?version=1&oid=.1.3.6.1.4.1.318.1.1.26.9.4.3.1.7.4": 138e6,
	} {
		src, err := openAnswered(t, fmt.Sprintf(spec, d.addr))
		if err != nil {
			t.Errorf("%s: %v", spec, err)
			continue
		}
		if v, err := readAnswered(t, src); err != nil || v != want {
			t.Errorf("%s: %v, %v; want %v", spec, v, err, want)
		}
	}
	for spec, say := range map[string]string{
		"snmp=apc@%s?outlet=9":                  "no such object",
		"snmp=raritan@%s":                       "pdu=1&inlet=1 (512 W), pdu=2&inlet=1 (288 W)",
		"snmp=raritan@%s?outlet=7":              "pdu=1 (512 W), pdu=2 (288 W)",
		"snmp=raritan@%s?inlet=1":               "pdu=1 (512 W), pdu=2 (288 W)",
		"snmp=oid@%s?oid=1.3.6.1.4.1.99999.1.2": "is not a whole number",
		"snmp=oid@%s?oid=1.3.6.1.4.1.99999.1.3": "implausible",
	} {
		if _, err := openAnswered(t, fmt.Sprintf(spec, d.addr)); err == nil || !strings.Contains(err.Error(), say) {
			t.Errorf("%s: %v, want %q", spec, err, say)
		}
	}
	t.Setenv("ZCBENCH_SNMP_USER", "meter")
	t.Setenv("ZCBENCH_SNMP_AUTH_PASSWORD", "authpass123")
	t.Setenv("ZCBENCH_SNMP_PRIV_PASSWORD", "privpass123")
	v3, err := openAnswered(t, "snmp=apc@"+d.addr+"?version=3&outlet=3")
	if err != nil {
		t.Fatal(err)
	}
	if v, err := readAnswered(t, v3); err != nil || v != 142e6 {
		t.Errorf("version 3: %v, %v", v, err)
	}
	t.Setenv("ZCBENCH_SNMP_COMMUNITY", "wrong")
	if _, err := open(t, "snmp=apc@"+d.addr+"?outlet=3"); err == nil || strings.Contains(err.Error(), "wrong") ||
		!strings.Contains(fixOf(err), "COMMUNITY") {
		t.Errorf("a wrong community: %v", err)
	}
	t.Setenv("ZCBENCH_SNMP_COMMUNITY", "s3cretcomm")
	src, err := openAnswered(t, "snmp=apc@"+d.addr+"?outlet=3")
	if err != nil {
		t.Fatal(err)
	}
	d.stop()
	if v, err := readLong(t, src); err == nil || v != none {
		t.Errorf("a unit that is gone reads %v", v)
	}
	d.start()
	if v, err := readAnswered(t, src); err != nil || v != 142e6 {
		t.Errorf("after it came back: %v, %v", v, err)
	}
}

// readLong is a reading with the sampler's patience.
func readLong(t *testing.T, src Source) (int64, error) {
	t.Helper()
	v := []int64{none}
	err := src.Read(t.Context(), v)
	return v[0], err
}

func TestSNMPSpecs(t *testing.T) {
	for _, bad := range []string{"snmp", "snmp=apc", "snmp=cisco@x", "snmp=oid@x", "snmp=oid@x?oid=a.b",
		"snmp=oid@x?oid=1.2&scale=0", "snmp=apc@x?outlet=0", "snmp=apc@x?version=4",
		"snmp=apc@x?version=3&auth=ROT13", "snmp=apc@x?community=public"} {
		if _, err := ParseSpec(bad); err == nil {
			t.Errorf("%s was taken", bad)
		}
	}
	// What would count for nothing is refused, with what does count.
	for bad, say := range map[string]string{
		"snmp=apc@x?outlet=3&pdu=2":                        "has no option outlet with pdu: it has outlet, or pdu",
		"snmp=apc@x?inlet=1":                               "apc has no option inlet",
		"snmp=apc@x?scale=10":                              "apc has no option scale",
		"snmp=apc@x?oid=1.2":                               "apc has no option oid",
		"snmp=raritan@x?outlet=1&inlet=1":                  "it has outlet with pdu, or inlet with pdu",
		"snmp=raritan@x?oid=1.2":                           "raritan has no option oid",
		"snmp=oid@x?oid=1.2&outlet=3":                      "oid has no option outlet with oid: it has oid with scale",
		"snmp=oid@x?oid=1.2&pdu=1":                         "oid has no option pdu with oid",
		"snmp=apc@x?outlet=3;3":                            "counted twice",
		"snmp=apc@x?outlet=":                               "outlet is empty",
		"snmp=apc@x?version=3&level=authNoPriv&priv=AES":   "does not use auth or priv, which are given",
		"snmp=apc@x?version=3&level=noAuthNoPriv&auth=SHA": "does not use auth or priv, which are given",
		"snmp=apc@x?outlet=3&auth=SHA":                     "auth is for version=3",
		"snmp=apc@x?version=2c&level=authPriv":             "level is for version=3",
		"snmp=raritan@x?outlet=1;2;3;4;5;6;7;8;9;10;11;12;13;14;15;16&pdu=1;2;3;4": "64 objects",
	} {
		if _, err := ParseSpec(bad); err == nil || !strings.Contains(err.Error(), say) {
			t.Errorf("%s: %v, want %q", bad, err, say)
		}
	}
	for _, good := range []string{"snmp=apc@x", "snmp=apc@x?pdu=1;2", "snmp=raritan@x?pdu=2",
		"snmp=raritan@x?outlet=7&pdu=1;2", "snmp=oid@x?oid=1.2;1.3&scale=0.1&version=3&level=authNoPriv"} {
		if _, err := ParseSpec(good); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
}
