// SPDX-License-Identifier: MIT

// Package stream is the contract of a data path: how one TCP flow of payload
// bytes is opened, named, filled, checked and counted.
//
// A receive mode implements [Receiver], a send mode [Sender]. Everything that
// is equal for all modes lives here: the data port and the [Hello] that opens
// the flow, the payload pattern and its verification, pacing, the counters and
// the farewell by which the receiver tells the sender what arrived.
package stream
