// SPDX-License-Identifier: MIT

package guest

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// The driver's interfaces come in the order of the bus, whatever they are called; others,
// and those without hardware, are left out.
func TestDriven(t *testing.T) {
	root := t.TempDir()
	net := filepath.Join(root, "class/net")
	for name, at := range map[string][2]string{
		"eth1": {"pci/0000:00:10.0/virtio1", "virtio_net"},
		"eth0": {"pci/0000:00:11.0/virtio2", "virtio_net"},
		"eth2": {"pci/0000:00:12.0", "e1000e"},
	} {
		dev, drv := filepath.Join(root, at[0]), filepath.Join(root, "drivers", at[1])
		for _, d := range []string{dev, drv, filepath.Join(net, name)} {
			if err := os.MkdirAll(d, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Symlink(drv, filepath.Join(dev, "driver")); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(dev, filepath.Join(net, name, "device")); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(net, "lo"), 0o755); err != nil {
		t.Fatal(err)
	}
	got, err := driven(net, "virtio_net")
	if want := []string{"eth1", "eth0"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
}

func TestUnloadOrder(t *testing.T) {
	n := NIC{Modules: []string{"/lab/drivers/failover.ko.xz", "/lab/drivers/net_failover.ko",
		"/lab/drivers/virtio-net.ko.xz"}}
	if got, want := n.unload(), []string{"virtio_net", "net_failover", "failover"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
