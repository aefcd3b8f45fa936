/* kernels.h - what gputool runs on a GPU, as PTX: the driver compiles it for the card at hand
 *
 * Version 6.0 and sm_50: drivers since 2017, cards since Maxwell. In CUDA C these are
 *
 *	void spin(u64 ns) { u64 t = globaltimer(); while (globaltimer() - t < ns); }
 *
 *	void scan(const u64 *at, u64 n, u64 pattern, u64 *found)	found[0] += those that are the
 *	{								pattern, [1] those not 0
 *		for (u64 i = index; i < n; i += grid)
 *			same += at[i] == pattern, set += at[i] != 0;
 *		atomicAdd(&found[0], same), atomicAdd(&found[1], set);
 *	}
 *
 *	void work(u32 *out, u32 rounds)
 *	{
 *		u32 x = index * 2654435761u + 1;
 *		float f = 1;
 *		for (u32 r = 0; r < rounds; r++) {
 *			x = x * 1664525u + 1013904223u;
 *			f = fmaf(f, 0.999f, (float)(x >> 16) / 65536);
 *		}
 *		out[index] = x ^ bits(f);
 *	}
 *
 *	void fault(u32 *at) { *at = 1; }
 */
#pragma once

/* clang-format off */
static const char kernels[] =
	".version 6.0\n"
	".target sm_50\n"
	".address_size 64\n"
	".visible .entry spin(.param .u64 spin_param_0)\n"
	"{\n"
	".reg .pred %p<2>;\n"
	".reg .b64 %rd<6>;\n"
	"ld.param.u64 %rd2, [spin_param_0];\n"
	"mov.u64 %rd3, %globaltimer;\n"
	"$L__BB0_1:\n"
	"mov.u64 %rd4, %globaltimer;\n"
	"sub.s64 %rd5, %rd4, %rd3;\n"
	"setp.lt.u64 %p1, %rd5, %rd2;\n"
	"@%p1 bra $L__BB0_1;\n"
	"ret;\n"
	"}\n"
	".visible .entry scan(.param .u64 scan_param_0, .param .u64 scan_param_1, .param .u64 scan_param_2, .param .u64 scan_param_3)\n"
	"{\n"
	".reg .pred %p<5>;\n"
	".reg .b32 %r<5>;\n"
	".reg .b64 %rd<38>;\n"
	"ld.param.u64 %rd13, [scan_param_0];\n"
	"ld.param.u64 %rd14, [scan_param_1];\n"
	"ld.param.u64 %rd15, [scan_param_2];\n"
	"ld.param.u64 %rd16, [scan_param_3];\n"
	"mov.u32 %r1, %ctaid.x;\n"
	"mov.u32 %r2, %ntid.x;\n"
	"cvt.u64.u32 %rd1, %r2;\n"
	"mul.wide.u32 %rd19, %r1, %r2;\n"
	"mov.u32 %r3, %tid.x;\n"
	"cvt.u64.u32 %rd20, %r3;\n"
	"add.s64 %rd33, %rd19, %rd20;\n"
	"setp.ge.u64 %p1, %rd33, %rd14;\n"
	"mov.u64 %rd36, 0;\n"
	"mov.u64 %rd37, %rd36;\n"
	"@%p1 bra $L__BB1_3;\n"
	"mov.u32 %r4, %nctaid.x;\n"
	"cvt.u64.u32 %rd23, %r4;\n"
	"mul.lo.s64 %rd3, %rd23, %rd1;\n"
	"cvta.to.global.u64 %rd4, %rd13;\n"
	"mov.u64 %rd37, 0;\n"
	"mov.u64 %rd36, %rd37;\n"
	"$L__BB1_2:\n"
	"shl.b64 %rd24, %rd33, 3;\n"
	"add.s64 %rd25, %rd4, %rd24;\n"
	"ld.global.u64 %rd26, [%rd25];\n"
	"setp.eq.s64 %p2, %rd26, %rd15;\n"
	"selp.u64 %rd27, 1, 0, %p2;\n"
	"add.s64 %rd36, %rd36, %rd27;\n"
	"setp.ne.s64 %p3, %rd26, 0;\n"
	"selp.u64 %rd28, 1, 0, %p3;\n"
	"add.s64 %rd37, %rd37, %rd28;\n"
	"add.s64 %rd33, %rd33, %rd3;\n"
	"setp.lt.u64 %p4, %rd33, %rd14;\n"
	"@%p4 bra $L__BB1_2;\n"
	"$L__BB1_3:\n"
	"cvta.to.global.u64 %rd29, %rd16;\n"
	"atom.global.add.u64 %rd30, [%rd29], %rd36;\n"
	"add.s64 %rd31, %rd29, 8;\n"
	"atom.global.add.u64 %rd32, [%rd31], %rd37;\n"
	"ret;\n"
	"}\n"
	".visible .entry work(.param .u64 work_param_0, .param .u32 work_param_1)\n"
	"{\n"
	".reg .pred %p<3>;\n"
	".reg .f32 %f<8>;\n"
	".reg .b32 %r<22>;\n"
	".reg .b64 %rd<5>;\n"
	"ld.param.u64 %rd1, [work_param_0];\n"
	"ld.param.u32 %r10, [work_param_1];\n"
	"mov.u32 %r12, %ntid.x;\n"
	"mov.u32 %r13, %ctaid.x;\n"
	"mov.u32 %r14, %tid.x;\n"
	"mad.lo.s32 %r1, %r13, %r12, %r14;\n"
	"mad.lo.s32 %r19, %r1, -1640531535, 1;\n"
	"setp.eq.s32 %p1, %r10, 0;\n"
	"mov.u32 %r21, 1065353216;\n"
	"@%p1 bra $L__BB2_4;\n"
	"mov.f32 %f7, 0f3F800000;\n"
	"mov.u32 %r18, 0;\n"
	"$L__BB2_2:\n"
	".pragma \"nounroll\";\n"
	"mad.lo.s32 %r19, %r19, 1664525, 1013904223;\n"
	"shr.u32 %r16, %r19, 16;\n"
	"cvt.rn.f32.u32 %f4, %r16;\n"
	"mul.f32 %f5, %f4, 0f37800000;\n"
	"mov.f32 %f6, 0f3F7FBE77;\n"
	"fma.rn.f32 %f7, %f7, %f6, %f5;\n"
	"add.s32 %r18, %r18, 1;\n"
	"setp.lt.u32 %p2, %r18, %r10;\n"
	"@%p2 bra $L__BB2_2;\n"
	"mov.b32 %r21, %f7;\n"
	"$L__BB2_4:\n"
	"cvta.to.global.u64 %rd2, %rd1;\n"
	"mul.wide.u32 %rd3, %r1, 4;\n"
	"add.s64 %rd4, %rd2, %rd3;\n"
	"xor.b32 %r17, %r19, %r21;\n"
	"st.global.u32 [%rd4], %r17;\n"
	"ret;\n"
	"}\n"
	".visible .entry fault(.param .u64 fault_param_0)\n"
	"{\n"
	".reg .b32 %r<2>;\n"
	".reg .b64 %rd<3>;\n"
	"ld.param.u64 %rd1, [fault_param_0];\n"
	"cvta.to.global.u64 %rd2, %rd1;\n"
	"mov.u32 %r1, 1;\n"
	"st.global.u32 [%rd2], %r1;\n"
	"ret;\n"
	"}\n";
/* clang-format on */
