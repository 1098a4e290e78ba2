/*
 * rows.h: what is measured, row by row: ROW(name, printf's format, {fmt}'s format, arguments...).
 *
 * The arguments are fields of `in`, a struct input; its fields are random, see inputs.c. {fmt} gets the same arguments.
 */
#ifndef ROWS_H
#define ROWS_H

#include <stddef.h>
#include <stdint.h>

/* Room for every row's text: %f of 1e300 is long. */
#define OUT_SIZE 400

/* Random values. `any` numbers have any number of digits alike. */
struct input {
    int any, minute, second, hour, day, year, status;
    unsigned int any_unsigned, word, octet[4];
    long long any_long;
    size_t size;
    double fixed, plain, wide;
    char letter;
    const char *key, *value, *month, *method, *path, *address;
    const void *pointer;
};

#define ROWS(ROW) \
    ROW(ipv4, "%u.%u.%u.%u", "{}.{}.{}.{}", in->octet[0] & 255, in->octet[1] & 255, in->octet[2] & 255, in->octet[3] & 255) \
    ROW(etag, "\"%08x-%zx\"", "\"{:08x}-{:x}\"", in->word, in->size) \
    ROW(time, "%02d:%02d:%02d", "{:02}:{:02}:{:02}", in->hour, in->minute, in->second) \
    ROW(x08, "%08x", "{:08x}", in->word) \
    ROW(log, "%s - - [%02d/%s/%d:%02d:%02d:%02d +0000] \"%s %s HTTP/1.1\" %d %zu", \
        "{} - - [{:02}/{}/{}:{:02}:{:02}:{:02} +0000] \"{} {} HTTP/1.1\" {} {}", in->address, in->day, in->month, in->year, \
        in->hour, in->minute, in->second, in->method, in->path, in->status, in->size) \
    ROW(f3, "%.3f", "{:.3f}", in->fixed) \
    ROW(g, "%g", "{:g}", in->plain) \
    ROW(g17, "%.17g", "{:.17g}", in->plain) \
    ROW(d, "%d", "{}", in->any) \
    ROW(header, "%s: %s", "{}: {}", in->key, in->value) \
    ROW(http, "HTTP/1.1 %d %s\r\nContent-Length: %zu\r\n", "HTTP/1.1 {} {}\r\nContent-Length: {}\r\n", in->status, in->key, in->size) \
    ROW(u, "%u", "{}", in->any_unsigned) \
    ROW(lld, "%lld", "{}", in->any_long) \
    ROW(zu, "%zu", "{}", in->size) \
    ROW(x, "%x", "{:x}", in->any_unsigned) \
    ROW(X, "%X", "{:X}", in->any_unsigned) \
    ROW(x02, "%02x", "{:02x}", in->octet[0] & 255) \
    ROW(hash_x, "%#x", "{:#x}", in->any_unsigned) \
    ROW(o, "%o", "{:o}", in->any_unsigned) \
    ROW(d5, "%5d", "{:5}", in->any) \
    ROW(minus_d8, "%-8d", "{:<8}", in->any) \
    ROW(plus_d, "%+d", "{:+}", in->any) \
    ROW(d_08, "%08d", "{:08}", in->any) \
    ROW(lld20, "%20lld", "{:20}", in->any_long) \
    ROW(c, "%c", "{}", in->letter) \
    ROW(s, "%s", "{}", in->value) \
    ROW(minus_s10, "%-10s", "{:<10}", in->key) \
    ROW(s20, "%20s", "{:>20}", in->key) \
    ROW(s_dot_5, "%.5s", "{:.5}", in->value) \
    ROW(p, "%p", "{}", in->pointer) \
    ROW(f, "%f", "{:f}", in->fixed) \
    ROW(f2_10, "%10.2f", "{:10.2f}", in->fixed) \
    ROW(e, "%e", "{:e}", in->wide) \
    ROW(e16, "%.16e", "{:.16e}", in->wide) \
    ROW(g_wide, "%g", "{:g}", in->wide) \
    ROW(g15, "%1.15g", "{:1.15g}", in->plain) \
    ROW(g17_wide, "%.17g", "{:.17g}", in->wide) \
    ROW(f_wide, "%f", "{:f}", in->wide) \
    ROW(f20, "%.20f", "{:.20f}", in->fixed) \
    ROW(point, "%d,%d", "{},{}", in->any, in->any_unsigned)

/* What {fmt} has no format for. */
#define ROWS_OF_C(ROW) \
    ROW(d_dot_5, "%.5d", 0, in->any) \
    ROW(o_hash, "%#o", 0, in->any_unsigned) \
    ROW(g_hash, "%#g", 0, in->plain)

/* A side writes every input once and returns how many bytes that made. */
typedef size_t (*side_row)(char *out, const struct input *in, size_t count);

struct row {
    const char *name, *format;
    side_row write;
};

#ifdef __cplusplus
extern "C" {
#endif
extern const struct row rows_libc[], rows_ours[], rows_fmt[];
extern const size_t count_libc;
void inputs_fill(struct input *inputs, size_t count);
#ifdef __cplusplus
}
#endif

#endif
