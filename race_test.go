//go:build race

package nway_test

const raceDetector = true
