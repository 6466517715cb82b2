// Package twofish holds the Twofish drivers for amd64. It is internal to the
// module in spirit and carries no compatibility promise: use package nway, which
// chooses among the drivers.
package twofish
