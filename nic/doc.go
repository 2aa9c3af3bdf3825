// Package nic reads and sets what zero-copy receive needs of a network
// interface: header split, receive-side scaling, ntuple rules, the memory
// provider of a queue.
//
// A [Device] speaks generic netlink (families ethtool and netdev) where the
// kernel has it, and the older ethtool ioctl for rules, the indirection table
// and driver statistics. It belongs to the network namespace of the thread that
// called [Open], wherever it is used later.
//
// What is changed goes through [Changes], which undoes it, last change first.
// The changes of a process that is killed stay: there is no journal of them on
// disk yet.
//
// The oldest kernel is 6.13, for header split by netlink with its threshold;
// what needs a newer one says so.
package nic
