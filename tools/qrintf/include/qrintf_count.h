/*
 * qrintf_count.h: how many arguments a call has, and lists as long as that. See qrintf.h.
 *
 * C's preprocessor cannot loop, so each length has its line. QRINTF_ARGUMENTS_MAX says where they end; a call with more
 * arguments is left to libc.
 */
#ifndef QRINTF_COUNT_H
#define QRINTF_COUNT_H

#define QRINTF_ARGUMENTS_MAX 16

/*
 * QRINTF_COUNT(arguments) is 0 to 16, or MANY: arguments behind the format. `fixed` is how many stand up to and with the
 * format: QRINTF_COUNT_1 is for printf(format, ...), QRINTF_COUNT_3 for snprintf(buffer, size, format, ...). Calls with
 * fewer than that are none of ours (they are declarations without a prototype, say): NONE.
 */
#define QRINTF_SELECT(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19, a20, \
    a21, a22, a23, a24, a25, a26, a27, a28, a29, a30, a31, a32, a33, a34, a35, a36, a37, a38, a39, a40, a41, a42, \
    a43, a44, a45, a46, a47, a48, a49, a50, a51, a52, a53, a54, a55, a56, a57, a58, a59, a60, a61, a62, a63, a64, \
    selected, ...) selected
#define QRINTF_COUNT_1(...) QRINTF_SELECT(__VA_ARGS__, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, \
    MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, \
    MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, \
    MANY, MANY, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 0)
#define QRINTF_COUNT_2(...) QRINTF_SELECT(__VA_ARGS__, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, \
    MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, \
    MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, \
    MANY, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, NONE, 0)
#define QRINTF_COUNT_3(...) QRINTF_SELECT(__VA_ARGS__, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, \
    MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, \
    MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, \
    16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, NONE, NONE, 0)

#define QRINTF_JOIN(a, b) QRINTF_JOIN_(a, b)
#define QRINTF_JOIN_(a, b) a##b

/*
 * QRINTF_DISPATCH(prefix, count, arguments): prefix##N(count, arguments) where there is a count from 1 on, else
 * prefix##0(arguments), prefix##MANY(arguments), prefix##NONE(arguments).
 */
#define QRINTF_DISPATCH(prefix, count, ...) QRINTF_JOIN(QRINTF_ROUTE_, count)(prefix, count, __VA_ARGS__)
#define QRINTF_ROUTE_0(prefix, count, ...) prefix##0(__VA_ARGS__)
#define QRINTF_ROUTE_MANY(prefix, count, ...) prefix##MANY(__VA_ARGS__)
#define QRINTF_ROUTE_NONE(prefix, count, ...) prefix##NONE(__VA_ARGS__)
#define QRINTF_ROUTE_1(prefix, count, ...) prefix##N(1, __VA_ARGS__)
#define QRINTF_ROUTE_2(prefix, count, ...) prefix##N(2, __VA_ARGS__)
#define QRINTF_ROUTE_3(prefix, count, ...) prefix##N(3, __VA_ARGS__)
#define QRINTF_ROUTE_4(prefix, count, ...) prefix##N(4, __VA_ARGS__)
#define QRINTF_ROUTE_5(prefix, count, ...) prefix##N(5, __VA_ARGS__)
#define QRINTF_ROUTE_6(prefix, count, ...) prefix##N(6, __VA_ARGS__)
#define QRINTF_ROUTE_7(prefix, count, ...) prefix##N(7, __VA_ARGS__)
#define QRINTF_ROUTE_8(prefix, count, ...) prefix##N(8, __VA_ARGS__)
#define QRINTF_ROUTE_9(prefix, count, ...) prefix##N(9, __VA_ARGS__)
#define QRINTF_ROUTE_10(prefix, count, ...) prefix##N(10, __VA_ARGS__)
#define QRINTF_ROUTE_11(prefix, count, ...) prefix##N(11, __VA_ARGS__)
#define QRINTF_ROUTE_12(prefix, count, ...) prefix##N(12, __VA_ARGS__)
#define QRINTF_ROUTE_13(prefix, count, ...) prefix##N(13, __VA_ARGS__)
#define QRINTF_ROUTE_14(prefix, count, ...) prefix##N(14, __VA_ARGS__)
#define QRINTF_ROUTE_15(prefix, count, ...) prefix##N(15, __VA_ARGS__)
#define QRINTF_ROUTE_16(prefix, count, ...) prefix##N(16, __VA_ARGS__)

/* QRINTF_PAIRS_n(m, x): m(x, 0, 1) m(x, 1, 2) ... m(x, n - 1, n). */
#define QRINTF_PAIRS_1(m, x) m(x, 0, 1)
#define QRINTF_PAIRS_2(m, x) m(x, 0, 1) m(x, 1, 2)
#define QRINTF_PAIRS_3(m, x) m(x, 0, 1) m(x, 1, 2) m(x, 2, 3)
#define QRINTF_PAIRS_4(m, x) m(x, 0, 1) m(x, 1, 2) m(x, 2, 3) m(x, 3, 4)
#define QRINTF_PAIRS_5(m, x) m(x, 0, 1) m(x, 1, 2) m(x, 2, 3) m(x, 3, 4) m(x, 4, 5)
#define QRINTF_PAIRS_6(m, x) m(x, 0, 1) m(x, 1, 2) m(x, 2, 3) m(x, 3, 4) m(x, 4, 5) m(x, 5, 6)
#define QRINTF_PAIRS_7(m, x) m(x, 0, 1) m(x, 1, 2) m(x, 2, 3) m(x, 3, 4) m(x, 4, 5) m(x, 5, 6) m(x, 6, 7)
#define QRINTF_PAIRS_8(m, x) QRINTF_PAIRS_7(m, x) \
    m(x, 7, 8)
#define QRINTF_PAIRS_9(m, x) QRINTF_PAIRS_7(m, x) \
    m(x, 7, 8) m(x, 8, 9)
#define QRINTF_PAIRS_10(m, x) QRINTF_PAIRS_7(m, x) \
    m(x, 7, 8) m(x, 8, 9) m(x, 9, 10)
#define QRINTF_PAIRS_11(m, x) QRINTF_PAIRS_7(m, x) \
    m(x, 7, 8) m(x, 8, 9) m(x, 9, 10) m(x, 10, 11)
#define QRINTF_PAIRS_12(m, x) QRINTF_PAIRS_7(m, x) \
    m(x, 7, 8) m(x, 8, 9) m(x, 9, 10) m(x, 10, 11) m(x, 11, 12)
#define QRINTF_PAIRS_13(m, x) QRINTF_PAIRS_7(m, x) \
    m(x, 7, 8) m(x, 8, 9) m(x, 9, 10) m(x, 10, 11) m(x, 11, 12) m(x, 12, 13)
#define QRINTF_PAIRS_14(m, x) QRINTF_PAIRS_7(m, x) \
    m(x, 7, 8) m(x, 8, 9) m(x, 9, 10) m(x, 10, 11) m(x, 11, 12) m(x, 12, 13) m(x, 13, 14)
#define QRINTF_PAIRS_15(m, x) QRINTF_PAIRS_7(m, x) \
    m(x, 7, 8) m(x, 8, 9) m(x, 9, 10) m(x, 10, 11) m(x, 11, 12) m(x, 12, 13) m(x, 13, 14) \
    m(x, 14, 15)
#define QRINTF_PAIRS_16(m, x) QRINTF_PAIRS_7(m, x) \
    m(x, 7, 8) m(x, 8, 9) m(x, 9, 10) m(x, 10, 11) m(x, 11, 12) m(x, 12, 13) m(x, 13, 14) \
    m(x, 14, 15) m(x, 15, 16)

/* QRINTF_EACH_n(m, x): m(x, 1) m(x, 2) ... m(x, n). */
#define QRINTF_EACH_1(m, x) m(x, 1)
#define QRINTF_EACH_2(m, x) m(x, 1) m(x, 2)
#define QRINTF_EACH_3(m, x) m(x, 1) m(x, 2) m(x, 3)
#define QRINTF_EACH_4(m, x) m(x, 1) m(x, 2) m(x, 3) m(x, 4)
#define QRINTF_EACH_5(m, x) m(x, 1) m(x, 2) m(x, 3) m(x, 4) m(x, 5)
#define QRINTF_EACH_6(m, x) m(x, 1) m(x, 2) m(x, 3) m(x, 4) m(x, 5) m(x, 6)
#define QRINTF_EACH_7(m, x) m(x, 1) m(x, 2) m(x, 3) m(x, 4) m(x, 5) m(x, 6) m(x, 7)
#define QRINTF_EACH_8(m, x) m(x, 1) m(x, 2) m(x, 3) m(x, 4) m(x, 5) m(x, 6) m(x, 7) m(x, 8)
#define QRINTF_EACH_9(m, x) m(x, 1) m(x, 2) m(x, 3) m(x, 4) m(x, 5) m(x, 6) m(x, 7) m(x, 8) m(x, 9)
#define QRINTF_EACH_10(m, x) QRINTF_EACH_9(m, x) m(x, 10)
#define QRINTF_EACH_11(m, x) QRINTF_EACH_9(m, x) m(x, 10) m(x, 11)
#define QRINTF_EACH_12(m, x) QRINTF_EACH_9(m, x) m(x, 10) m(x, 11) m(x, 12)
#define QRINTF_EACH_13(m, x) QRINTF_EACH_9(m, x) m(x, 10) m(x, 11) m(x, 12) m(x, 13)
#define QRINTF_EACH_14(m, x) QRINTF_EACH_9(m, x) m(x, 10) m(x, 11) m(x, 12) m(x, 13) m(x, 14)
#define QRINTF_EACH_15(m, x) QRINTF_EACH_9(m, x) m(x, 10) m(x, 11) m(x, 12) m(x, 13) m(x, 14) m(x, 15)
#define QRINTF_EACH_16(m, x) QRINTF_EACH_9(m, x) m(x, 10) m(x, 11) m(x, 12) m(x, 13) m(x, 14) m(x, 15) m(x, 16)

/* QRINTF_ZIP_n(x, a, b, ...): x(1, a) x(2, b) ... */
#define QRINTF_ZIP_1(x, a) x(1, a)
#define QRINTF_ZIP_2(x, a, b) x(1, a) x(2, b)
#define QRINTF_ZIP_3(x, a, b, c) x(1, a) x(2, b) x(3, c)
#define QRINTF_ZIP_4(x, a, b, c, d) x(1, a) x(2, b) x(3, c) x(4, d)
#define QRINTF_ZIP_5(x, a, b, c, d, e) x(1, a) x(2, b) x(3, c) x(4, d) x(5, e)
#define QRINTF_ZIP_6(x, a, b, c, d, e, f) x(1, a) x(2, b) x(3, c) x(4, d) x(5, e) x(6, f)
#define QRINTF_ZIP_7(x, a, b, c, d, e, f, g) \
    x(1, a) x(2, b) x(3, c) x(4, d) x(5, e) x(6, f) x(7, g)
#define QRINTF_ZIP_8(x, a, b, c, d, e, f, g, h) \
    x(1, a) x(2, b) x(3, c) x(4, d) x(5, e) x(6, f) x(7, g) x(8, h)
#define QRINTF_ZIP_9(x, a, b, c, d, e, f, g, h, i) \
    x(1, a) x(2, b) x(3, c) x(4, d) x(5, e) x(6, f) x(7, g) x(8, h) x(9, i)
#define QRINTF_ZIP_10(x, a, b, c, d, e, f, g, h, i, j) \
    x(1, a) x(2, b) x(3, c) x(4, d) x(5, e) x(6, f) x(7, g) x(8, h) x(9, i) x(10, j)
#define QRINTF_ZIP_11(x, a, b, c, d, e, f, g, h, i, j, k) \
    x(1, a) x(2, b) x(3, c) x(4, d) x(5, e) x(6, f) x(7, g) x(8, h) x(9, i) x(10, j) x(11, k)
#define QRINTF_ZIP_12(x, a, b, c, d, e, f, g, h, i, j, k, l) \
    x(1, a) x(2, b) x(3, c) x(4, d) x(5, e) x(6, f) x(7, g) x(8, h) x(9, i) x(10, j) x(11, k) x(12, l)
#define QRINTF_ZIP_13(x, a, b, c, d, e, f, g, h, i, j, k, l, m) \
    x(1, a) x(2, b) x(3, c) x(4, d) x(5, e) x(6, f) x(7, g) x(8, h) x(9, i) x(10, j) x(11, k) x(12, l) \
    x(13, m)
#define QRINTF_ZIP_14(x, a, b, c, d, e, f, g, h, i, j, k, l, m, n) \
    x(1, a) x(2, b) x(3, c) x(4, d) x(5, e) x(6, f) x(7, g) x(8, h) x(9, i) x(10, j) x(11, k) x(12, l) \
    x(13, m) x(14, n)
#define QRINTF_ZIP_15(x, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o) \
    x(1, a) x(2, b) x(3, c) x(4, d) x(5, e) x(6, f) x(7, g) x(8, h) x(9, i) x(10, j) x(11, k) x(12, l) \
    x(13, m) x(14, n) x(15, o)
#define QRINTF_ZIP_16(x, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p) \
    x(1, a) x(2, b) x(3, c) x(4, d) x(5, e) x(6, f) x(7, g) x(8, h) x(9, i) x(10, j) x(11, k) x(12, l) \
    x(13, m) x(14, n) x(15, o) x(16, p)

/* QRINTF_VALUES_n: the arguments again, by the names that they have within a call that is specialized. */
#define QRINTF_VALUES_1 qrintf_t1
#define QRINTF_VALUES_2 QRINTF_VALUES_1, qrintf_t2
#define QRINTF_VALUES_3 QRINTF_VALUES_2, qrintf_t3
#define QRINTF_VALUES_4 QRINTF_VALUES_3, qrintf_t4
#define QRINTF_VALUES_5 QRINTF_VALUES_4, qrintf_t5
#define QRINTF_VALUES_6 QRINTF_VALUES_5, qrintf_t6
#define QRINTF_VALUES_7 QRINTF_VALUES_6, qrintf_t7
#define QRINTF_VALUES_8 QRINTF_VALUES_7, qrintf_t8
#define QRINTF_VALUES_9 QRINTF_VALUES_8, qrintf_t9
#define QRINTF_VALUES_10 QRINTF_VALUES_9, qrintf_t10
#define QRINTF_VALUES_11 QRINTF_VALUES_10, qrintf_t11
#define QRINTF_VALUES_12 QRINTF_VALUES_11, qrintf_t12
#define QRINTF_VALUES_13 QRINTF_VALUES_12, qrintf_t13
#define QRINTF_VALUES_14 QRINTF_VALUES_13, qrintf_t14
#define QRINTF_VALUES_15 QRINTF_VALUES_14, qrintf_t15
#define QRINTF_VALUES_16 QRINTF_VALUES_15, qrintf_t16

#endif
