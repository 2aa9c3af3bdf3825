// SPDX-License-Identifier: MIT

// Package guest is the lab's side inside the virtual machine: the first process
// of a kernel that has nothing else. It mounts the usual file systems, loads
// the soft NIC, puts its two ends into the network namespaces "sut" and "tg",
// runs one command, sends back its output, files and exit status, and reports
// what the kernel complained about.
//
// The program is the same binary that started the machine, found as /init in
// the initramfs: main calls [Main] when [IsInit] says so.
//
// The channels to the host are virtio-serial ports, which Debian's kernel has
// built in, named as the Port constants say.
package guest
