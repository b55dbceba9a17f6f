/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Operations whose prototype has changed. The driver's function, fn(), has that of the
 * newest kernel. COMPAT_<OPERATION>(fn) declares compat_fn(), which an older kernel can
 * call, and compat_op(<PROBE>, fn) is the one of both that this kernel calls.
 */
#ifndef OPENIPOIB_COMPAT_OP_H
#define OPENIPOIB_COMPAT_OP_H

#define compat_op(probe, fn) compat_op_by(COMPAT_##probe, fn)
#define compat_op_by(answer, fn) compat_op_of(answer, fn)
#define compat_op_of(answer, fn) compat_op_##answer(fn)
#define compat_op_1(fn) fn
#define compat_op_0(fn) compat_##fn

#endif /* OPENIPOIB_COMPAT_OP_H */
