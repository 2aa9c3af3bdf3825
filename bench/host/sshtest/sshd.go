// SPDX-License-Identifier: MIT

// Package sshtest runs a real sshd in a network namespace, for tests: with keys,
// configuration and known hosts of its own, so that nothing of the machine's is
// read or written.
package sshtest

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/machine/veth"
	"golang.org/x/sys/unix"
)

// Server is an sshd that root can log in to with a key.
type Server struct {
	Addr string // port 22 of it
	Dir  string // keys and configuration
	Home string // of who logs in
	// Client is the file for ssh -F. It knows the server as "box", too.
	Client string

	t testing.TB
}

// sshd does not start by a relative path, and is not on everybody's PATH.
const program = "/usr/sbin/sshd"

// Start starts an sshd in the namespace at addr, with env in every login. The
// test's end stops it.
func Start(t testing.TB, ns *veth.Netns, addr string, env ...string) *Server {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root: makes network namespaces and starts sshd in them")
	}
	if _, err := os.Stat(program); err != nil {
		t.Fatalf("%v: apt-get install openssh-server (make test does)", err)
	}
	s := &Server{Addr: addr, Dir: t.TempDir(), Home: t.TempDir(), t: t}
	s.Client = filepath.Join(s.Dir, "ssh_config")
	s.separation()
	s.keys()
	s.configure(env)
	s.Also(ns, addr)
	return s
}

// separation makes the folder that sshd wants, where the system has not. Without it
// no login begins, so the last of all tests that use it removes it: each holds a lock
// of it, and a file in it says that it is theirs.
func (s *Server) separation() {
	s.t.Helper()
	const dir, ours = "/run/sshd", "/run/sshd/zcbench-test"
	for {
		err := os.Mkdir(dir, 0o755)
		if err == nil {
			err = os.WriteFile(ours, nil, 0o600)
		}
		if err != nil && !errors.Is(err, os.ErrExist) && !errors.Is(err, os.ErrNotExist) {
			s.t.Fatal(err)
		}
		f, err := os.Open(dir)
		if errors.Is(err, os.ErrNotExist) {
			continue // another test's end removed it just now
		}
		if err == nil {
			err = unix.Flock(int(f.Fd()), unix.LOCK_SH)
		}
		if err != nil {
			s.t.Fatal(err)
		}
		if same(f, dir) {
			s.t.Cleanup(func() {
				defer f.Close()
				if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil && os.Remove(ours) == nil {
					os.Remove(dir)
				}
			})
			return
		}
		f.Close()
	}
}

// same reports whether path still leads to the open file.
func same(f *os.File, path string) bool {
	a, err := f.Stat()
	b, berr := os.Stat(path)
	return err == nil && berr == nil && os.SameFile(a, b)
}

func (s *Server) keys() {
	s.t.Helper()
	for _, name := range []string{"host_key", "id", "other"} {
		cmd := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", filepath.Join(s.Dir, name))
		if out, err := cmd.CombinedOutput(); err != nil {
			s.t.Fatalf("ssh-keygen: %v: %s", err, out)
		}
	}
	s.Write("authorized_keys", s.read("id.pub"))
	s.KnowHost("host_key.pub")
}

// SSH returns the command for ZCBENCH_SSH, with the patience of tests: a machine that is busy
// elsewhere is not taken for dead. Of what is set first ssh takes the word.
func (s *Server) SSH() string {
	const patient = " -o ConnectTimeout=180 -o ServerAliveCountMax=90"
	return "ssh -F " + s.Client + patient
}

// KnowHost makes the client expect the key of a file in Dir from the server.
func (s *Server) KnowHost(file string) {
	key := strings.Join(strings.Fields(s.read(file))[:2], " ")
	s.Write("known_hosts", fmt.Sprintf("* %s\n", key))
}

func (s *Server) configure(env []string) {
	pam := "no"
	if shadow, _ := os.ReadFile("/etc/shadow"); strings.HasPrefix(string(shadow), "root:!") {
		pam = "yes" // without it, sshd refuses an account without password
	}
	set := fmt.Sprintf("SetEnv HOME=%s", s.Home)
	for _, e := range env {
		set += fmt.Sprintf(" %q", e)
	}
	s.Write("sshd_config", fmt.Sprintf(`Port 22
HostKey %[1]s/host_key
AuthorizedKeysFile %[1]s/authorized_keys
PidFile none
UsePAM %[2]s
StrictModes no
PermitRootLogin yes
PasswordAuthentication no
KbdInteractiveAuthentication no
MaxStartups 100
UseDNS no
%[3]s
`, s.Dir, pam, set))
	// The algorithms are those that cost the least: they are not what is tested.
	s.Write("ssh_config", fmt.Sprintf(`Host box
  HostName %s
  HostKeyAlias box
Host *
  User root
  UserKnownHostsFile %[2]s/known_hosts
  GlobalKnownHostsFile /dev/null
  StrictHostKeyChecking yes
  IdentityFile %[2]s/id
  IdentitiesOnly yes
  IdentityAgent none
  KexAlgorithms curve25519-sha256
  Ciphers aes128-gcm@openssh.com
`, s.Addr, s.Dir))
}

// Also starts an sshd that differs in namespace and address only.
func (s *Server) Also(ns *veth.Netns, addr string) {
	s.t.Helper()
	log, err := os.Create(filepath.Join(s.Dir, "log-"+addr))
	if err != nil {
		s.t.Fatal(err)
	}
	defer log.Close()
	cmd := exec.Command(program, "-D", "-e", "-f", filepath.Join(s.Dir, "sshd_config"), "-o", "ListenAddress="+addr)
	cmd.Stderr = log
	cmd.SysProcAttr = &unix.SysProcAttr{Setpgid: true}
	if err := ns.Do(cmd.Start); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		logins := children(cmd.Process.Pid) // one whose link is dead would wait for it
		cmd.Process.Kill()
		cmd.Wait()
		for _, pid := range logins {
			unix.Kill(pid, unix.SIGKILL)
		}
	})
	if !await.So(func() bool {
		err = ns.Do(func() error {
			c, err := net.DialTimeout("tcp", net.JoinHostPort(addr, "22"), await.Hang)
			if err == nil {
				c.Close()
			}
			return err
		})
		return err == nil
	}) {
		s.t.Fatalf("sshd does not answer: %v\n%s", err, s.read("log-"+addr))
	}
}

// children are the processes that pid has started and that live.
func children(pid int) (out []int) {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", pid))
	for f := range strings.FieldsSeq(string(b)) {
		if n, err := strconv.Atoi(f); err == nil {
			out = append(out, n)
		}
	}
	return out
}

// Write writes a file in Dir.
func (s *Server) Write(name, text string) {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.Dir, name), []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

func (s *Server) read(name string) string {
	s.t.Helper()
	b, err := os.ReadFile(filepath.Join(s.Dir, name))
	if err != nil {
		s.t.Fatal(err)
	}
	return string(b)
}

// Program puts a shell script into a folder, for a PATH in which it stands for
// a program.
func Program(t testing.TB, dir, name, script string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
}
