/*
 * qrintf_cxx.h: snprintf, sprintf, printf, fprintf, dprintf and asprintf for C++, by overload; under QRINTF_CXX only. See
 * qrintf.h.
 *
 * A macro would break std::snprintf. A template with the argument list as a parameter pack is preferred to libc's function
 * with its `...`, by every name it can be called, and `&snprintf` still means libc's. But a template cannot see that its
 * format is a literal before the optimizer does, and parsing there costs too much to compile. So a call hands over its
 * arguments with their types, and the format is read at run time, by a parser with none of libc's generality:
 *
 *     snprintf(to, size, "%d %s", 5, name)     qrintf_interpret(to, size, "%d %s", {5: int, name: string}, 2)
 *
 * Text that does not fit and formats that the parser does not know are left to libc, as in C. The compiler does not check
 * formats of these calls.
 */
#ifndef QRINTF_CXX_H
#define QRINTF_CXX_H

#include "qrintf_target.h"

/* One argument: its type as libc would take it, and its value. */
enum { QRINTF_IS_OTHER, QRINTF_IS_INT, QRINTF_IS_LONG, QRINTF_IS_STRING, QRINTF_IS_POINTER, QRINTF_IS_DOUBLE };
struct qrintf_argument {
    int is;
    union {
        qrintf_u64_t integer;
        const void *pointer;
        double number;
    } value;
};

/* One directive as it stands in a format; `text` is where the format goes on, null if libc has to read it. */
struct qrintf_directive {
    const char *text;
    unsigned int spec;
    int width, precision, size;
};

/* Takes a number of up to three digits; null where there are more. */
QRINTF_INLINE const char *qrintf_take_number(const char *text, int *number)
{
    const char *first = text;
    for (*number = 0; *text >= '0' && *text <= '9'; text++) {
        if (text - first == 3)
            return 0;
        *number = *number * 10 + (*text - '0');
    }
    return text;
}

QRINTF_INLINE unsigned int qrintf_flag(char c)
{
    return c == '-' ? QRINTF_MINUS : c == '+' ? QRINTF_PLUS : c == ' ' ? QRINTF_SPACE : c == '0' ? QRINTF_ZERO
           : c == '#' ? QRINTF_HASH : 0;
}

/* An argument of a star, which has to be an int; 0 if there is none. */
QRINTF_INLINE int qrintf_take_star(const qrintf_argument **next, const qrintf_argument *end, int *number)
{
    if (*next == end || (*next)->is != QRINTF_IS_INT)
        return 0;
    *number = (int)(*next)->value.integer;
    ++*next;
    return *number >= -999 && *number <= 999;
}

/* Reads what is behind a '%'. */
QRINTF_INLINE void qrintf_read(qrintf_directive *d, const char *text, const qrintf_argument **next,
                               const qrintf_argument *end)
{
    d->text = 0;
    d->spec = 0;
    d->width = 0;
    d->precision = -1;
    d->size = 4;
    for (unsigned int flag; (flag = qrintf_flag(*text)) != 0; text++)
        d->spec |= flag;
    if (*text == '*') {
        if (!qrintf_take_star(next, end, &d->width))
            return;
        text++;
    } else if (!(text = qrintf_take_number(text, &d->width))) {
        return;
    }
    if (*text == '.') {
        if (*++text == '*') {
            if (!qrintf_take_star(next, end, &d->precision))
                return;
            text++;
        } else if (!(text = qrintf_take_number(text, &d->precision))) {
            return;
        }
    }
    if (*text == 'h') {
        d->size = text[1] == 'h' ? 1 : 2;
        text += text[1] == 'h' ? 2 : 1;
    } else if (*text == 'l') {
        d->size = text[1] == 'l' ? 8 : (int)sizeof(long);
        text += text[1] == 'l' ? 2 : 1;
    } else if (*text == 'j' || *text == 'z' || *text == 't') {
        d->size = *text == 'j' ? 8 : (int)sizeof(void *);
        text++;
    }
    d->spec |= (unsigned char)*text;
    d->text = *text ? text + 1 : 0;
}

/* Writes an integer directive. */
QRINTF_INLINE char *qrintf_write_integer(char *p, const qrintf_directive *d, qrintf_u64_t v)
{
    const int unused = 64 - 8 * d->size;
    const unsigned int letter = QRINTF_LETTER(d->spec);
    const bool is_signed = letter == 'd' || letter == 'i';
    v = is_signed ? (qrintf_u64_t)((qrintf_i64_t)(v << unused) >> unused) : v << unused >> unused;
    if (d->spec == letter && d->width == 0 && d->precision < 0) {
        if (is_signed)
            return qrintf_i64(p, (qrintf_i64_t)v);
        if (letter == 'u')
            return qrintf_u64(p, v);
        if (letter != 'o')
            return qrintf_hex64(p, v, letter == 'X');
    }
    if (is_signed && (qrintf_i64_t)v < 0)
        return qrintf_integer(p, 0 - v, 1, d->spec, d->width, d->precision);
    return qrintf_integer(p, v, 0, d->spec, d->width, d->precision);
}

/* Writes one directive's argument, if `room` bytes are enough for it; null where libc has to. */
QRINTF_INLINE char *qrintf_write(char *p, qrintf_size_t room, const qrintf_directive *d, const qrintf_argument *a)
{
    const qrintf_size_t width = (qrintf_size_t)(d->width < 0 ? -d->width : d->width);
    const qrintf_size_t digits = (qrintf_size_t)(d->precision > 6 ? d->precision : 6);
    const unsigned int letter = QRINTF_LETTER(d->spec);
    const int integer = d->size > 4 ? QRINTF_IS_LONG : QRINTF_IS_INT;
    if (letter == 's' && a->is == QRINTF_IS_STRING && d->size == 4 && a->value.pointer) {
        const char *s = (const char *)a->value.pointer;
        const qrintf_size_t length = qrintf_length(s, d->precision);
        if (length + width > room)
            return 0;
        return width ? qrintf_string_padded(p, s, length, d->spec, d->width) : qrintf_string(p, s, length);
    }
    if (width + digits + 40 > room)
        return 0;
    switch (letter) {
    case 'd': case 'i': case 'u': case 'o': case 'x': case 'X':
        return a->is == integer ? qrintf_write_integer(p, d, a->value.integer) : 0;
    case 'c': {
        const char c = (char)a->value.integer;
        return a->is == QRINTF_IS_INT && d->size == 4 ? qrintf_string_padded(p, &c, 1, d->spec, d->width) : 0;
    }
    case 'p':
        if ((a->is != QRINTF_IS_POINTER && a->is != QRINTF_IS_STRING) || d->size != 4)
            return 0;
        return qrintf_pointer(p, a->value.pointer, d->spec, d->width, d->precision);
    case 'e': case 'E': case 'f': case 'F': case 'g': case 'G':
        return a->is == QRINTF_IS_DOUBLE && d->size == 4
            ? qrintf_double(p, a->value.number, d->spec, d->width, d->precision) : 0;
    default:
        return 0;
    }
}

#define qrintf_interpret QRINTF_VERSIONED(qrintf_interpret)
/* Writes the whole text and a zero byte into `size` bytes; the end of the text, or null where libc has to. */
QRINTF_RUNTIME(qrintf_interpret)
char *qrintf_interpret(char *to, qrintf_size_t size, const char *format, const qrintf_argument *next, int count)
{
    const qrintf_argument *const end = next + count;
    char *p = to, *const last = to + (size < 0x40000000 ? size : 0x40000000) - 1;
    QRINTF_SHARE(qrintf_interpret)
    if (size == 0 || !format)
        return 0;
    for (;;) {
        qrintf_directive directive;
        for (; *format != '%' && *format != 0 && p < last; format++)
            *p++ = *format;
        if (*format == 0)
            break;
        if (p == last)
            return 0;
        if (format[1] == '%') {
            *p++ = '%';
            format += 2;
            continue;
        }
        qrintf_read(&directive, format + 1, &next, end);
        if (!directive.text || next == end)
            return 0;
        p = qrintf_write(p, (qrintf_size_t)(last - p), &directive, next++);
        if (!p)
            return 0;
        format = directive.text;
    }
    *p = 0;
    return next == end ? p : 0;
}

/* An argument with its type; what none of these takes is libc's. */
QRINTF_INLINE qrintf_argument qrintf_integer_argument(qrintf_u64_t value, qrintf_size_t size)
{
    qrintf_argument a;
    a.is = size <= 4 ? QRINTF_IS_INT : QRINTF_IS_LONG;
    a.value.integer = value;
    return a;
}
QRINTF_INLINE qrintf_argument qrintf_pointer_argument(const void *value, int is)
{
    qrintf_argument a;
    a.is = is;
    a.value.pointer = value;
    return a;
}
QRINTF_INLINE qrintf_argument qrintf_double_argument(double value)
{
    qrintf_argument a;
    a.is = QRINTF_IS_DOUBLE;
    a.value.number = value;
    return a;
}
template <class T> struct qrintf_typed {
    static qrintf_argument of(const T &) { return qrintf_pointer_argument(0, QRINTF_IS_OTHER); }
};
template <class T> struct qrintf_typed<T *> {
    static qrintf_argument of(T *const &value) { return qrintf_pointer_argument((const void *)value, QRINTF_IS_POINTER); }
};
#define QRINTF_TYPED(type, call) \
    template <> struct qrintf_typed<type> { \
        static qrintf_argument of(type value) { return call; } \
    };
QRINTF_TYPED(bool, qrintf_integer_argument(value, 4))
QRINTF_TYPED(char, qrintf_integer_argument((qrintf_u64_t)value, 4))
QRINTF_TYPED(signed char, qrintf_integer_argument((qrintf_u64_t)value, 4))
QRINTF_TYPED(unsigned char, qrintf_integer_argument(value, 4))
QRINTF_TYPED(short, qrintf_integer_argument((qrintf_u64_t)value, 4))
QRINTF_TYPED(unsigned short, qrintf_integer_argument(value, 4))
QRINTF_TYPED(int, qrintf_integer_argument((qrintf_u64_t)value, 4))
QRINTF_TYPED(unsigned int, qrintf_integer_argument(value, 4))
QRINTF_TYPED(long, qrintf_integer_argument((qrintf_u64_t)value, sizeof(long)))
QRINTF_TYPED(unsigned long, qrintf_integer_argument(value, sizeof(long)))
QRINTF_TYPED(long long, qrintf_integer_argument((qrintf_u64_t)value, 8))
QRINTF_TYPED(unsigned long long, qrintf_integer_argument(value, 8))
QRINTF_TYPED(float, qrintf_double_argument((double)value))
QRINTF_TYPED(double, qrintf_double_argument(value))
QRINTF_TYPED(char *, qrintf_pointer_argument(value, QRINTF_IS_STRING))
QRINTF_TYPED(const char *, qrintf_pointer_argument(value, QRINTF_IS_STRING))
#undef QRINTF_TYPED

#if defined __USE_FORTIFY_LEVEL && __USE_FORTIFY_LEVEL > 0
extern "C" {
extern int qrintf_libc_sprintf_chk(char *, int, qrintf_size_t, const char *, ...) __asm__("__sprintf_chk");
extern int qrintf_libc_snprintf_chk(char *, qrintf_size_t, int, qrintf_size_t, const char *, ...) __asm__("__snprintf_chk");
extern int qrintf_libc_fprintf_chk(FILE *, int, const char *, ...) __asm__("__fprintf_chk");
extern int qrintf_libc_dprintf_chk(int, int, const char *, ...) __asm__("__dprintf_chk");
extern int qrintf_libc_asprintf_chk(char **, int, const char *, ...) __asm__("__asprintf_chk");
}
#define QRINTF_OBJECT(d) __builtin_object_size(d, __USE_FORTIFY_LEVEL > 1)
#define QRINTF_SLOW_SPRINTF(d, object, ...) qrintf_libc_sprintf_chk(d, __USE_FORTIFY_LEVEL - 1, object, __VA_ARGS__)
#define QRINTF_SLOW_SNPRINTF(d, n, object, ...) \
    qrintf_libc_snprintf_chk(d, n, __USE_FORTIFY_LEVEL - 1, object, __VA_ARGS__)
#define QRINTF_SLOW(function, target, ...) qrintf_libc_##function##_chk(target, __USE_FORTIFY_LEVEL - 1, __VA_ARGS__)
#else
extern "C" {
extern int qrintf_libc_sprintf(char *, const char *, ...) __asm__("sprintf");
extern int qrintf_libc_snprintf(char *, qrintf_size_t, const char *, ...) __asm__("snprintf");
}
#define QRINTF_OBJECT(d) ((qrintf_size_t)-1)
#define QRINTF_SLOW_SPRINTF(d, object, ...) qrintf_libc_sprintf(d, __VA_ARGS__)
#define QRINTF_SLOW_SNPRINTF(d, n, object, ...) qrintf_libc_snprintf(d, n, __VA_ARGS__)
#define QRINTF_SLOW(function, target, ...) qrintf_libc_##function(target, __VA_ARGS__)
#endif

#define QRINTF_OVERLOAD template <class First, class... Rest> __attribute__((__always_inline__)) inline int
#define QRINTF_ARGUMENTS \
    const qrintf_argument qrintf_all[] = {qrintf_typed<First>::of(first), qrintf_typed<Rest>::of(rest)...}
#define QRINTF_COUNTED qrintf_all, 1 + (int)sizeof...(Rest)

QRINTF_OVERLOAD snprintf(char *to, qrintf_size_t size, const char *format, First first, Rest... rest)
{
    QRINTF_ARGUMENTS;
    const qrintf_size_t object = QRINTF_OBJECT(to);
    char *end = size <= object ? qrintf_interpret(to, size, format, QRINTF_COUNTED) : 0;
    return end ? (int)(end - to) : QRINTF_SLOW_SNPRINTF(to, size, object, format, first, rest...);
}

QRINTF_OVERLOAD sprintf(char *to, const char *format, First first, Rest... rest)
{
    QRINTF_ARGUMENTS;
    const qrintf_size_t object = QRINTF_OBJECT(to);
    char *end = qrintf_interpret(to, object, format, QRINTF_COUNTED);
    return end ? (int)(end - to) : QRINTF_SLOW_SPRINTF(to, object, format, first, rest...);
}

/* Functions that print: the text is written on the stack first, as far as it fits. */
#define QRINTF_PRINT(function, type, finish)                                                \
    QRINTF_OVERLOAD function(type target, const char *format, First first, Rest... rest)     \
    {                                                                                       \
        QRINTF_ARGUMENTS;                                                                   \
        char text[512];                                                                     \
        char *end = qrintf_interpret(text, sizeof text, format, QRINTF_COUNTED);            \
        return end ? finish(target, text, end) : QRINTF_SLOW(function, target, format, first, rest...); \
    }
QRINTF_PRINT(fprintf, FILE *, qrintf_to_stream)
/* Only where <stdio.h> declares them, as in C. */
#if defined __USE_XOPEN2K8 || !defined __GLIBC__
QRINTF_PRINT(dprintf, int, qrintf_to_descriptor)
#endif
#if defined __USE_GNU || (!defined __GLIBC__ && (defined _GNU_SOURCE || defined _BSD_SOURCE))
QRINTF_PRINT(asprintf, char **, qrintf_to_allocation)
#endif
#undef QRINTF_PRINT

QRINTF_OVERLOAD printf(const char *format, First first, Rest... rest)
{
    return ::fprintf(stdout, format, first, rest...);
}

#undef QRINTF_OVERLOAD
#undef QRINTF_ARGUMENTS
#undef QRINTF_COUNTED

#endif
