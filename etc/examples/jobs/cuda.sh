#!/bin/bash
# A CUDA program: compiled where it runs, for the GPU that it got.
#
#     gsubmit cuda.sh
#
#GPUSCHED -J saxpy --gpus=1 --cpus-per-task=2 --mem=4G --time=10
set -euo pipefail
folder=$(mktemp -d)             # the run's own where the site has made /tmp private
trap 'rm -rf "$folder"' EXIT

cat > "$folder/saxpy.cu" <<'CUDA'
#include <cstdio>
#include <vector>

__global__ void saxpy(int n, float a, const float *x, float *y)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		y[i] = a * x[i] + y[i];
}

int main()
{
	const int n = 1 << 20;
	std::vector<float> y(n, 2.0f), x(n, 1.0f);
	float *dx, *dy;
	int devices = 0, wrong = 0;
	cudaDeviceProp p;

	if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
		fprintf(stderr, "no CUDA device: was a GPU asked for?\n");
		return 1;
	}
	cudaGetDeviceProperties(&p, 0); // 0 is the first of ours, whatever its number on the host
	printf("%d device(s), the first: %s\n", devices, p.name);
	cudaMalloc(&dx, n * sizeof(float));
	cudaMalloc(&dy, n * sizeof(float));
	cudaMemcpy(dx, x.data(), n * sizeof(float), cudaMemcpyHostToDevice);
	cudaMemcpy(dy, y.data(), n * sizeof(float), cudaMemcpyHostToDevice);
	saxpy<<<(n + 255) / 256, 256>>>(n, 3.0f, dx, dy);
	cudaMemcpy(y.data(), dy, n * sizeof(float), cudaMemcpyDeviceToHost);
	for (float v : y)
		wrong += v != 5.0f;
	printf("%d of %d wrong\n", wrong, n);
	return wrong != 0;
}
CUDA

echo "host's GPUs ${GPUSCHED_GPUS-none}, CUDA sees ${CUDA_VISIBLE_DEVICES-all}"
# DRY_RUN=1 stops here: neither a compiler nor a GPU is needed.
[ "${DRY_RUN-}" = 1 ] && exit 0
nvcc -arch=native -o "$folder/saxpy" "$folder/saxpy.cu"
"$folder/saxpy"
