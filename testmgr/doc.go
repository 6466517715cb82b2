// Package testmgr is the self-test that every driver passes before a registry
// hands it out, and the runner of vector files.
//
// A driver is judged by its known answers and by agreement with textbook forms
// (package reference) over the portable cipher of the same name, at lengths that
// go beyond twice its widest kernel, in place and out of place, with a watch on
// the bytes around every buffer. Of an authenticated mode forged messages are
// tried too, and messages in pieces.
//
// [New] gives the quick tester for a registry. [Exhaustive] is the long form
// that "nway test" runs. Outside providers use package algtest in their tests.
// This package does not import testing.
package testmgr
