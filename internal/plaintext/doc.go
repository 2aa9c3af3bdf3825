// SPDX-License-Identifier: MIT

// Package plaintext makes text from elsewhere harmless to a terminal: far hosts, power
// meters and files write into what we print, and a terminal obeys what it is sent. It
// would set its title, move the cursor, answer as if keys were pressed, or show words in
// another order than they stand in.
//
// What a terminal may obey, and what nobody can see, is written as JSON escapes it:
// \u001b. So it can be seen, and JSON that passes through means what it meant.
package plaintext
