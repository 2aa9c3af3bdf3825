// SPDX-License-Identifier: MIT

// Package judge decides which runs count. A gate selects: what it leaves out, no reader of a
// median sees. So there are three classes of them ([plan.GateClass]).
//
//   - Proof: the run was not what its cell says. It is invalid. Each end judges it ([end]).
//   - Environment: something else on the hosts spoilt it. It is invalid, as is all of its block,
//     which is made again ([Blocks]).
//   - Outcome: what came out is not as one may wish. It is flagged and counts, unless somebody
//     asked for a gate: runs that are chosen by their results prove nothing.
//
// What both ends said is joined by [Both]. Gates of one run are judged when it ends and are in its
// record ([Run]). Gates of a cell and of a block need all its runs: they follow from the journal
// whenever it is read ([Apply]), so that they hold after a crash too and nothing in a journal is
// ever rewritten.
//
// What was not measured fails no gate. All are in two lists: [end.Rules], [rules].
package judge
