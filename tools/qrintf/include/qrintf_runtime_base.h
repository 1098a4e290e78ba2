/*
 * qrintf_runtime_base.h: linkage, types and exact stores of the runtime. See qrintf_runtime.h.
 *
 * Linkage. Every object file carries the functions that it uses, and the copies of a program's objects fold into one, so
 * that no link line changes, whatever links the program. Each compiler has its own way to express that:
 *
 *     C++            an inline function with hidden visibility: a COMDAT group, as every inline function of C++ has.
 *     clang, C       a GNU inline function that is also weak: emitted where it is used, one symbol in the program. The
 *                    spare copies are sections of their own, which --gc-sections drops.
 *     gcc, C         C has no linkage that is emitted only where it is used and is global too. So a static function
 *                    names its own section as a member of a COMDAT group and makes its own symbol weak and hidden, from
 *                    inside its body. `noipa` keeps the compiler from reasoning about callers or callee: the copy that
 *                    the linker keeps may come from another object.
 *
 * The copies of one program may come from objects that were compiled years apart. So the names carry a version, which
 * grows whenever a shared function changes what it takes, returns or calls.
 *
 * gcc's link-time optimizer gives static functions new names, which would tear groups of the last kind apart, and no macro
 * tells whether it is in use. So that kind waits for QRINTF_COMDAT, which qrintf-cc defines on command lines without
 * -flto; without it the functions are plainly static, and the optimizer itself folds identical ones. Code for more than
 * the architecture's baseline is not shared either: the copy that is kept must run wherever any of the objects would.
 */
#ifndef QRINTF_RUNTIME_BASE_H
#define QRINTF_RUNTIME_BASE_H

#if defined __SSE3__ || defined __AVX__ || defined __BMI__ || defined __BMI2__ || defined __POPCNT__ || defined __LZCNT__ \
    || defined __MOVBE__ || defined __ADX__ || defined __TBM__ || defined __ARM_FEATURE_SVE || defined __ARM_FEATURE_ATOMICS \
    || defined __ARM_FEATURE_CRC32 || defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__ || defined QRINTF_STATIC
#define QRINTF_PRIVATE_COPY 1
#endif

/*
 * Every object compiles the functions that it uses anew, and most of that is the optimizer's work. gcc's -O1, less what
 * does nothing for them, takes six tenths of the time and makes them a few percent slower; the shortest ones, which are
 * most often used, are compiled as the program is.
 */
#if defined __clang__ || defined __cplusplus
#define QRINTF_BRIEFLY
#else
#define QRINTF_BRIEFLY                                                                                                \
    __attribute__((__optimize__("O1", "no-tree-dominator-opts", "no-tree-pta", "no-tree-sink", "no-tree-slsr", \
                                "no-tree-bit-ccp")))
#endif

/* Tools that count a program's own functions leave these out; one's address in .text would tear its group apart too. */
#define QRINTF_COMMON __unused__, __no_instrument_function__

#define QRINTF_VERSION v3
#define QRINTF_PASTE_(name, version) name##_##version
#define QRINTF_PASTE(name, version) QRINTF_PASTE_(name, version)
#define QRINTF_VERSIONED(name) QRINTF_PASTE(name, QRINTF_VERSION)
#define QRINTF_QUOTE_(name) #name
#define QRINTF_QUOTE(name) QRINTF_QUOTE_(name)

/*
 * QRINTF_RUNTIME(name) opens the definition of a shared function, behind `#define name QRINTF_VERSIONED(name)`;
 * QRINTF_SHARE(name) is in its body. QRINTF_RUNTIME_BRIEF(name) opens that of one that is compiled QRINTF_BRIEFLY.
 * QRINTF_TABLE(owner, name) opens the definition of a table that only the shared function `owner` looks into.
 * A shared function has no switch that could become a jump table: that would lie outside of the group and point into it.
 */
#if defined QRINTF_PRIVATE_COPY
#define QRINTF_RUNTIME(name) static __attribute__((__noinline__, QRINTF_COMMON))
#define QRINTF_SHARE(name)
#elif defined __cplusplus
#define QRINTF_RUNTIME(name) extern "C" __inline__ __attribute__((__noinline__, QRINTF_COMMON, __visibility__("hidden")))
#define QRINTF_SHARE(name)
#elif defined __clang__
#define QRINTF_RUNTIME(name)                                                                              \
    extern __inline__ __attribute__((__gnu_inline__, __weak__, __noinline__, QRINTF_COMMON, __visibility__("hidden"), \
                                     __section__(".text." QRINTF_QUOTE(name))))
#define QRINTF_SHARE(name)
#elif defined QRINTF_COMDAT && defined __ELF__ && (defined __x86_64__ || defined __aarch64__)
/*
 * gcc prints a section's name as it is, then flags of its own: so the name ends with the start of an assembler comment.
 * It begins with a quote, because gcc would put the literals of a function in ".text.NAME" into a ".rodata.NAME" of the
 * same group under -ffunction-sections -fdata-sections, and then share them with code outside of the group, which must
 * not refer to it: the linker may drop the group. A list of patchable functions would refer to it too.
 */
#ifdef __x86_64__
#define QRINTF_COMMENT "#"
#else
#define QRINTF_COMMENT "//"
#endif
#define QRINTF_GROUPED(section, flags, group) \
    __section__("\"" section "\",\"" flags "\",%progbits," QRINTF_QUOTE(group) ",comdat" QRINTF_COMMENT)
#define QRINTF_RUNTIME(name)                                                              \
    static __attribute__((__noipa__, QRINTF_COMMON, __patchable_function_entry__(0), \
                          QRINTF_GROUPED(".text." QRINTF_QUOTE(name), "axG", name)))
#define QRINTF_TABLE(owner, name) static __attribute__((__unused__, QRINTF_GROUPED(".rodata." #name, "aG", owner)))
#define QRINTF_SHARE(name) __asm__(".weak " QRINTF_QUOTE(name) "\n\t.hidden " QRINTF_QUOTE(name));
#else
#define QRINTF_RUNTIME(name) static __attribute__((__noinline__, QRINTF_COMMON))
#define QRINTF_SHARE(name)
#endif

#define QRINTF_RUNTIME_BRIEF(name) QRINTF_BRIEFLY QRINTF_RUNTIME(name)

#ifndef QRINTF_TABLE
#define QRINTF_TABLE(owner, name) static __attribute__((__unused__))
#endif

#define QRINTF_INLINE static __inline__ __attribute__((__always_inline__, QRINTF_COMMON))

#define QRINTF_LIKELY(x) __builtin_expect(!!(x), 1)
#define QRINTF_UNLIKELY(x) __builtin_expect(!!(x), 0)

/* glibc defines this macro in <stdio.h>; so does uClibc. */
#if defined __GLIBC__ && !defined __UCLIBC__
#define QRINTF_GLIBC 1
#endif

typedef __UINT16_TYPE__ qrintf_u16_t;
typedef __INT32_TYPE__ qrintf_i32_t;
typedef __UINT32_TYPE__ qrintf_u32_t;
__extension__ typedef __INT64_TYPE__ qrintf_i64_t;
__extension__ typedef __UINT64_TYPE__ qrintf_u64_t;
typedef __SIZE_TYPE__ qrintf_size_t;

/* A literal of 64 bits. */
#ifdef __LP64__
#define QRINTF_U64(digits) digits##UL
#else
#define QRINTF_U64(digits) (__extension__ digits##ULL)
#endif

/*
 * A conversion's letter and flags, packed so that they are one constant argument: 'x' | QRINTF_HASH. A flag is the bit
 * that its character's lowest five bits count to, above the letter's eight: the format parser needs no table for it.
 */
#define QRINTF_FLAG(character) (256u << ((character) & 31))
#define QRINTF_MINUS QRINTF_FLAG('-')
#define QRINTF_PLUS QRINTF_FLAG('+')
#define QRINTF_SPACE QRINTF_FLAG(' ')
#define QRINTF_ZERO QRINTF_FLAG('0')
#define QRINTF_HASH QRINTF_FLAG('#')
#define QRINTF_LETTER(spec) ((spec) & 0xffu)

/* Most bytes that a number takes without width and precision: sign or "0x", digits. Octal is the longest. */
#define QRINTF_ROOM_INTEGER 24
/* With width w and precision p: max(w, p + QRINTF_ROOM_SIGN) or QRINTF_ROOM_INTEGER, whichever is more. */
#define QRINTF_ROOM_SIGN 3

/* Exact stores: the first byte in memory is the lowest of `bytes`. */
QRINTF_INLINE void qrintf_store16(char *p, qrintf_u32_t bytes)
{
    qrintf_u16_t value = (qrintf_u16_t)bytes;
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    value = __builtin_bswap16(value);
#endif
    __builtin_memcpy(p, &value, 2);
}

QRINTF_INLINE void qrintf_store32(char *p, qrintf_u32_t bytes)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    bytes = __builtin_bswap32(bytes);
#endif
    __builtin_memcpy(p, &bytes, 4);
}

QRINTF_INLINE void qrintf_store64(char *p, qrintf_u64_t bytes)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    bytes = __builtin_bswap64(bytes);
#endif
    __builtin_memcpy(p, &bytes, 8);
}

/* Stores the lowest `length` bytes, 1 to 3: the three stores meet in one place where there are fewer. */
QRINTF_INLINE char *qrintf_store_to_3(char *p, qrintf_u32_t bytes, unsigned int length)
{
    p[0] = (char)(bytes & 0xff);
    p[length >> 1] = (char)(bytes >> (length & 2) * 4 & 0xff);
    p[length - 1] = (char)(bytes >> (length - 1) * 8 & 0xff);
    return p + length;
}

/* Stores the lowest `length` bytes, 4 to 8, as two halves that overlap. */
QRINTF_INLINE char *qrintf_store_4_to_8(char *p, qrintf_u64_t bytes, unsigned int length)
{
    qrintf_store32(p, (qrintf_u32_t)bytes);
    qrintf_store32(p + length - 4, (qrintf_u32_t)(bytes >> (length - 4) * 8));
    return p + length;
}

/* Stores the lowest `length` bytes, 1 to 8. */
QRINTF_INLINE char *qrintf_store_to_8(char *p, qrintf_u64_t bytes, unsigned int length)
{
    return length < 4 ? qrintf_store_to_3(p, (qrintf_u32_t)bytes, length) : qrintf_store_4_to_8(p, bytes, length);
}

/*
 * Stores the 8 - `zeros` highest bytes, zeros 0 to 7, without a branch, for lengths that cannot be foretold: up to three
 * bytes of any text, then both halves, where they belong if there are four bytes or more, else into unused bytes.
 */
QRINTF_INLINE char *qrintf_store_any(char *p, qrintf_u64_t right, unsigned int zeros)
{
    char nowhere[12], *halves = zeros > 4 ? nowhere + 4 : p, *end = p + (8 - zeros);
    qrintf_u64_t left = right >> zeros * 8;
    p[(8 - zeros) >> 1] = (char)(left >> 8 & 0xff);
    p[0] = (char)(left & 0xff);
    end[-1] = (char)(right >> 56);
    qrintf_store32(halves, (qrintf_u32_t)left);
    qrintf_store32(halves + (4 - (int)zeros), (qrintf_u32_t)(right >> 32));
    return end;
}

/* Copies `length` bytes from where they do not overlap the target; short ones, which most are, without a call. */
#define qrintf_copy QRINTF_VERSIONED(qrintf_copy)
QRINTF_RUNTIME(qrintf_copy)
char *qrintf_copy(char *p, const char *from, qrintf_size_t length)
{
    QRINTF_SHARE(qrintf_copy)
    if (QRINTF_UNLIKELY(length > 32)) {
        __builtin_memcpy(p, from, length);
    } else if (length >= 16) {
        char head[16], tail[16];
        __builtin_memcpy(head, from, 16);
        __builtin_memcpy(tail, from + length - 16, 16);
        __builtin_memcpy(p, head, 16);
        __builtin_memcpy(p + length - 16, tail, 16);
    } else if (length >= 8) {
        qrintf_u64_t head, tail;
        __builtin_memcpy(&head, from, 8);
        __builtin_memcpy(&tail, from + length - 8, 8);
        __builtin_memcpy(p, &head, 8);
        __builtin_memcpy(p + length - 8, &tail, 8);
    } else if (length >= 4) {
        qrintf_u32_t head, tail;
        __builtin_memcpy(&head, from, 4);
        __builtin_memcpy(&tail, from + length - 4, 4);
        __builtin_memcpy(p, &head, 4);
        __builtin_memcpy(p + length - 4, &tail, 4);
    } else if (length != 0) {
        char middle = from[length >> 1], last = from[length - 1];
        p[0] = from[0];
        p[length >> 1] = middle;
        p[length - 1] = last;
    }
    return p + length;
}

/* Writes `count` times `byte`; nothing if `count` is not positive. */
#define qrintf_repeat QRINTF_VERSIONED(qrintf_repeat)
QRINTF_RUNTIME_BRIEF(qrintf_repeat)
char *qrintf_repeat(char *p, char byte, int count)
{
    qrintf_u64_t bytes = (unsigned char)byte * QRINTF_U64(0x0101010101010101);
    QRINTF_SHARE(qrintf_repeat)
    if (count <= 0)
        return p;
    for (; count > 8; count -= 8, p += 8)
        qrintf_store64(p, bytes);
    return qrintf_store_to_8(p, bytes, (unsigned int)count);
}

#endif
