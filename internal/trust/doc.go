// SPDX-License-Identifier: MIT

// Package trust tells whether what this process is about to read, write or run
// can have been put there by another user of the machine.
//
// A path can be trusted when nobody but root and the effective user can replace
// any part of it: every folder on the way is owned by one of them and writable
// by nobody else, or has the sticky bit, under which only an entry's owner may
// replace it (inode(7)). Symbolic links are followed step by step, each held
// against the same rule, as openssh does for authorized_keys (StrictModes).
//
// A group counts as nobody else when it has the owner's number: the private
// group that Debian and others give each user, and root's.
package trust
