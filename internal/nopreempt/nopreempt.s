// SPDX-License-Identifier: MIT

// Nothing: that this file is here lets the compiler take functions without a body, which are the
// runtime's.
