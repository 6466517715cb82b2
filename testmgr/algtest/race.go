//go:build race

package algtest

const raceDetector = true
