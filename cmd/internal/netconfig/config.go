// SPDX-License-Identifier: MIT

package netconfig

import (
	"fmt"
	"net/netip"
	"path/filepath"
	"strings"

	"github.com/zcbench/zcbench/bench/host"
)

// Folder is where a test lies.
type Folder struct {
	Path  string
	Named bool // by the user; else it is where the program happens to be
}

// Config is what the selftests are told of the network.
type Config struct {
	Dev                                  string // NETIF
	LocalV4, LocalV6, RemoteV4, RemoteV6 string
	RemoteType, RemoteArgs               string
	From                                 []string // the files that were read
	variables                            map[string]string
}

// names are the variables, as the kernel's tests know them.
var names = []string{"NETIF", "LOCAL_V4", "LOCAL_V6", "REMOTE_V4", "REMOTE_V6", "REMOTE_TYPE", "REMOTE_ARGS"}

// Load reads the variables: of the environment, and in their place those of the file net.config
// beside the test, or in the folder above, where tests of drivers/net/hw have it. As in the
// kernel's tests, an empty variable is none.
func Load(f Folder, getenv func(string) string) (*Config, error) {
	c := &Config{variables: map[string]string{}}
	for _, n := range names {
		c.variables[n] = getenv(n)
	}
	for _, dir := range []string{f.Path, filepath.Join(f.Path, "..")} {
		path := filepath.Join(dir, configFile)
		text, err := read(path, f.Named)
		if err != nil {
			return nil, err
		}
		if text == "" {
			continue
		}
		lines, err := parse(text)
		if err != nil {
			return nil, fmt.Errorf("%s, %w", path, err)
		}
		for _, l := range lines {
			c.variables[l.name] = l.value
		}
		c.From = append(c.From, path)
		break
	}
	v := c.variables
	c.Dev, c.LocalV4, c.LocalV6, c.RemoteV4, c.RemoteV6 = v["NETIF"], v["LOCAL_V4"], v["LOCAL_V6"], v["REMOTE_V4"],
		v["REMOTE_V6"]
	c.RemoteType, c.RemoteArgs = v["REMOTE_TYPE"], v["REMOTE_ARGS"]
	return c, nil
}

// Addresses returns the local and the remote address of a family; "" where there are none.
func (c *Config) Addresses(ipv6 bool) (local, remote string) {
	if ipv6 {
		return c.LocalV6, c.RemoteV6
	}
	return c.LocalV4, c.RemoteV4
}

// Check refuses an environment that says too little, or what cannot be: with [Config.Dev] the
// kernel's tests want all the rest.
func (c *Config) Check() error {
	var missing []string
	for _, x := range [][2]string{{c.LocalV4 + c.LocalV6, "LOCAL_V4 or LOCAL_V6"},
		{c.RemoteV4 + c.RemoteV6, "REMOTE_V4 or REMOTE_V6"},
		{c.RemoteType, "REMOTE_TYPE"}, {c.RemoteArgs, "REMOTE_ARGS"}} {
		if x[0] == "" {
			missing = append(missing, x[1])
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("NETIF is %q, and there is no %s", c.Dev, strings.Join(missing, ", no "))
	}
	for _, x := range []struct {
		name, addr, other, is string
		v6                    bool
	}{{"LOCAL_V4", c.LocalV4, "REMOTE_V4", c.RemoteV4, false}, {"REMOTE_V4", c.RemoteV4, "LOCAL_V4", c.LocalV4, false},
		{"LOCAL_V6", c.LocalV6, "REMOTE_V6", c.RemoteV6, true}, {"REMOTE_V6", c.RemoteV6, "LOCAL_V6", c.LocalV6,
			true}} {
		if x.addr == "" {
			continue
		}
		if x.is == "" {
			return fmt.Errorf("%s is there without %s", x.name, x.other)
		}
		if a, err := netip.ParseAddr(x.addr); err != nil || a.Is4() == x.v6 {
			return fmt.Errorf("%s=%.60q: want an %s address", x.name, x.addr,
				map[bool]string{false: "IPv4", true: "IPv6"}[x.v6])
		}
	}
	_, err := c.Remote()
	return err
}

// Remote names the other host as zcbench names hosts.
func (c *Config) Remote() (string, error) {
	switch c.RemoteType {
	case "ssh", "netns":
	default:
		return "", fmt.Errorf("REMOTE_TYPE=%.40q: want ssh or netns", c.RemoteType)
	}
	name := c.RemoteType + ":" + c.RemoteArgs
	if _, err := host.ParseSpec(name); err != nil {
		return "", fmt.Errorf("REMOTE_ARGS=%.60q: %w", c.RemoteArgs, err)
	}
	return name, nil
}
