package tcrypt

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-25a2b25a/nway/internal/cpu"
)

func TestSharedCoreByArchitecture(t *testing.T) {
	require.Empty(t, sharedCore(nil, "amd64"))
	require.Empty(t, sharedCore([]float64{3.76, 3.7, 3.8}, "amd64"))
	require.Contains(t, sharedCore([]float64{3.1, 3.2, 3.1}, "amd64"), "the core seems to be shared: 3.1 ")
	require.Empty(t, sharedCore([]float64{2.9, 2.9, 2.9}, "arm64"), "what is usual there is not known")
	require.Empty(t, sharedCore([]float64{3.7, 3.7, 3.7, 3.7, 3.7, 3.7, 3.7, 3.7, 3.7, 3.7, 3.7, 280}, "amd64"), "one round that went wrong")
}

func TestCPUName(t *testing.T) {
	require.Equal(t, "Intel Core i5-2500 CPU (fam:6, model:42, step:7)", cpuName(cpu.Info{Name: "Intel(R) Core(TM) i5-2500 CPU @ 3.30GHz", Family: 6, Model: 42, Stepping: 7}))
	require.Equal(t, "unknown CPU", cpuName(cpu.Info{}))
}

func TestAxisLimits(t *testing.T) {
	for _, v := range [][4]float64{{120, 1900, 100, 2000}, {20, 20, 20, 50}, {0.7, 1, 0.5, 1}, {55, 5001, 50, 10000}} {
		low, high := around(v[0], v[1])
		require.InEpsilon(t, v[2], low, 1e-9, v)
		require.InEpsilon(t, v[3], high, 1e-9, v)
	}
}
