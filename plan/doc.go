// SPDX-License-Identifier: MIT

// Package plan says what is asked: cells and their options, gates, paces.
package plan
