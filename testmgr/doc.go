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
// that "nway test" runs, [Soak] the one without end, and [Timing] looks at the time of
// requests. Outside providers use package algtest in their tests.
// This package does not import testing.
//
// # Faults of other libraries, and the tests that watch for them here
//
//	 1, 2   counter carry at 32, 64 and 128 bits     nway TestCase1And2CounterCarry
//	 4      tails and chained calls                  nway TestCase4ChainedCalls
//	 5      in place beyond an internal buffer       nway TestCase5InPlaceBeyondTheBuffer, TestCase5AEADInPlace
//	 8      exit at a multiple of the vector width   nway TestCase8XTSBlockCounts
//	 9      data units and their lengths             nway TestCase9XTSDataUnits
//	10      equal halves of a key                    nway TestCase10EqualHalves
//	12      sector numbers past 2^32                 nway TestCase12SectorNumbers, disk TestCase12SectorNumbers
//	14      ESSIV                                    nway TestCase14ESSIV
//	17      any CPU feature in place of all          nway TestCase17AllFeatures
//	18      one SIMD path miscompiled                nway TestCase18EveryDriverGivesTheSame, TestCase18FaultyDriver
//	20      names taken apart wrongly                nway TestCase20Names, disk TestParseSpec
//	22      iv not written back                      nway TestCase22IVWrittenBack
//	23      zero and odd lengths                     nway TestCase23ZeroAndOddLengths
//	24      reads and writes past a buffer           nway TestCase24GuardPages
//	25      padding and Twofish in CBC               nway TestCase25TwofishCBC
//	26      GCM's counter of 32 bits                 nway TestCase26GCMCounter
//	27      OCB's nonces and offsets                 nway TestCase27OCB
//	28      EAX with empty parts, after failures     nway TestCase28EAX
//	31      CCM's lengths                            nway TestCase31CCMLengths
//	32      failed authentication                    nway TestCase32Authentication
//	33      byte order and odd keys                  nway TestCase33ByteOrderAndKeys
//
// # Faults planted in the tests, and what catches them
//
//	wrong round key in one lane of a kernel     the gate, soak: TestPlantedWrongRoundKeyInOneLane
//	store past the end by a vector              the gate: TestPlantedStorePastTheEndByAVector
//	load of a byte past the end                 guard pages: algtest TestHarnessFindsFaults
//	counter that carries at 32 bits             the gate: TestPlantedCounterThatCarriesAt32Bits
//	load by a secret index                      internal/consttime: TestPlantedAMD64, ARM64, ARM
//	driver registered twice                     the registry: TestPlantedDriverRegisteredTwice
//	tester that never runs, or is not there     the registry: TestPlantedTesterThatNeverRuns
//	some sixty more                             algtest TestHarnessFindsFaults
package testmgr
