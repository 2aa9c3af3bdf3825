// SPDX-License-Identifier: MIT

// Package lease sets what a run needs of a host and its interfaces, and puts it
// back, whatever happens in between.
//
// Before the first change a [Lease] writes what was there and what it is going to
// set to a journal and syncs it. It then sets in the order of dependency, reads
// everything back, and restores in reverse: at its end, after an error, on a
// signal or a panic. What a process that was killed left is in its journal, which
// [Finish] works off: the command `zcbench restore`, and every start of an agent.
//
// One process at a time has a lease of an interface, of the machine, or of what
// belongs to a network namespace; a second one is told who has it. Within a
// process leases nest, and one lease becomes what the next cell of an experiment
// wants by the difference (see [Lease.Become]).
//
// Nothing that somebody else changed meanwhile is overwritten silently: a value
// that is neither the one found nor the one set is reported and left.
package lease
