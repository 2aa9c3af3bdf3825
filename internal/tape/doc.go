// SPDX-License-Identifier: MIT

// Package tape writes down what a host's kernel answered, and answers from that on another
// host: a NIC that zcbench gets wrong can be sent with a bug report.
//
// Whoever asks the kernel something that a record is to have asks through [Ask], which calls
// the kernel unless the process replays. A question has one answer, the first: who records
// changes nothing meanwhile. What is asked while another question is answered is part of that
// one. Answers come here without what tells whose host it is: who asks leaves that out, and
// sees no more itself while it records.
package tape
