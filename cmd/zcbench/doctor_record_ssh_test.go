// SPDX-License-Identifier: MIT

package main

import (
	"encoding/hex"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/await"
)

// A host that is reached by ssh makes the record, and the file has nothing by which it is
// known.
func TestIntegrationDoctorRecordSSH(t *testing.T) {
	h := newTwoHosts(t)
	path := filepath.Join(t.TempDir(), "r.json")
	dev := h.pair.SUT.Dev
	p := h.start(t, "doctor", "--host", h.sut, "--dev", dev, "--record", path)
	if got := p.Wait(await.Hang); got != 0 || !strings.Contains(p.Out.String(), "--replay "+path) {
		t.Fatalf("exit status %d\n%s%s", got, &p.Out, &p.Err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var mac net.HardwareAddr
	err = h.pair.SUT.Netns.Do(func() error {
		i, err := net.InterfaceByName(dev)
		if err == nil {
			mac = i.HardwareAddr
		}
		return err
	})
	if err != nil || len(mac) != 6 {
		t.Fatalf("%v, %v", mac, err)
	}
	name, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	text := strings.ToLower(string(b))
	for _, s := range []string{mac.String(), hex.EncodeToString(mac), h.pair.SUT.IPv4.String(),
		hex.EncodeToString(h.pair.SUT.IPv4.To4()), h.pair.SUT.IPv6.String(), hex.EncodeToString(h.pair.SUT.IPv6.To16()),
		`"` + strings.ToLower(name), hex.EncodeToString([]byte(dev + "\x00"))} {
		if strings.Contains(text, s) {
			t.Errorf("the record has %q in it", s)
		}
	}
	d, err := replay(path)
	if err != nil || d.Dev.Name != dev || d.Dev.Driver != "veth" || !d.Dev.Up {
		t.Errorf("%+v, %v", d, err)
	}
	mustEnd(t, h.agents())
}
