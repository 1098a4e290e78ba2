/*
 * exhaustive.c: every integer writer over every number of 32 bits, against odometers.
 *
 * usage: exhaustive FIRST COUNT
 *
 * An odometer is a text that is counted up digit by digit, so nothing here divides, multiplies or calls libc for what is
 * expected.
 */
#include "check.h"

#define IMAGE 32

/* A text as it is expected in memory: the digits, then filler. */
struct odometer {
    char image[IMAGE];
    int length;
    int base;
};

static void start(struct odometer *o, int base, uint64_t v)
{
    char digits[IMAGE];
    int count = 0;
    memset(o->image, FILLER, IMAGE);
    o->base = base;
    do
        digits[count++] = "0123456789abcdef"[v % (unsigned int)base];
    while ((v /= (unsigned int)base) != 0);
    o->length = count;
    for (int i = 0; i < count; i++)
        o->image[i] = digits[count - 1 - i];
}

static inline void advance(struct odometer *o)
{
    int i = o->length - 1;
    for (; i >= 0; i--) {
        char next = (char)(o->image[i] == '9' && o->base == 16 ? 'a' : o->image[i] + 1);
        if (next != '0' + o->base && next != 'g') {
            o->image[i] = next;
            return;
        }
        o->image[i] = '0';
    }
    memmove(o->image + 1, o->image, (size_t)o->length++);
    o->image[0] = '1';
}

static char area[IMAGE + IMAGE];

static inline char *fresh(void)
{
    memset(area, FILLER, sizeof area);
    return area + 8;
}

static void compare(const char *what, const char *image, int length, const char *end)
{
    static const char filler[8] = {FILLER, FILLER, FILLER, FILLER, FILLER, FILLER, FILLER, FILLER};
    if (end != area + 8 + length || memcmp(area + 8, image, IMAGE) != 0 || memcmp(area, filler, 8) != 0) {
        fprintf(stderr, "%s: '%.*s' is expected, '%.24s' was written\n", what, length, image, area + 8);
        exit(1);
    }
}

/* What is expected of a number with something in front: `image` behind `front`. */
static const char *fronted(const struct odometer *o, const char *front, int length)
{
    static char image[IMAGE];
    memcpy(image, front, (size_t)length);
    memcpy(image + length, o->image, (size_t)(IMAGE - length));
    return image;
}

static void decimal(const struct odometer *o, uint32_t v)
{
    compare("u32", o->image, o->length, qrintf_u32(fresh(), v));
    compare("u64", o->image, o->length, qrintf_u64(fresh(), v));
    if (v < 256)
        compare("u8", o->image, o->length, qrintf_u8(fresh(), v));
    compare("i64", fronted(o, "-", v != 0), o->length + (v != 0), qrintf_i64(fresh(), -(int64_t)v));
    if (v <= 1u << 31)
        compare("-i32", fronted(o, "-", v != 0), o->length + (v != 0), qrintf_i32(fresh(), (int32_t)(0 - v)));
    if (v < 1u << 31)
        compare("i32", o->image, o->length, qrintf_i32(fresh(), (int32_t)v));
    compare("u32_02", fronted(o, "0", v < 10), o->length + (v < 10), qrintf_u32_02(fresh(), v));
    if (v < 1u << 31)
        compare("i32_02", fronted(o, "0", v < 10), o->length + (v < 10), qrintf_i32_02(fresh(), (int32_t)v));
    compare("integer", o->image, o->length, qrintf_integer(fresh(), v, 0, 'u', 0, -1));
}

static void hexadecimal(const struct odometer *o, uint32_t v)
{
    struct odometer upper = *o;
    for (int i = 0; i < o->length; i++)
        if (upper.image[i] >= 'a')
            upper.image[i] = (char)(upper.image[i] - 'a' + 'A');
    compare("hex32", o->image, o->length, qrintf_hex32(fresh(), v, 0));
    compare("HEX32", upper.image, o->length, qrintf_hex32(fresh(), v, 1));
    compare("hex64", o->image, o->length, qrintf_hex64(fresh(), v, 0));
    compare("hex32_08", fronted(o, "0000000", 8 - o->length), 8, qrintf_hex32_08(fresh(), v, 0));
    compare("HEX32_08", fronted(&upper, "0000000", 8 - o->length), 8, qrintf_hex32_08(fresh(), v, 1));
    if (v < 256) {
        compare("hex8_02", fronted(o, "0", 2 - o->length), 2, qrintf_hex8_02(fresh(), v, 0));
        compare("HEX8_02", fronted(&upper, "0", 2 - o->length), 2, qrintf_hex8_02(fresh(), v, 1));
    }
}

int main(int count, char **arguments)
{
    struct odometer ten, sixteen, eight;
    uint64_t v, end;
    if (count != 3) {
        fprintf(stderr, "usage: exhaustive FIRST COUNT\n");
        return 2;
    }
    v = strtoull(arguments[1], NULL, 0);
    end = v + strtoull(arguments[2], NULL, 0);
    start(&ten, 10, v);
    start(&sixteen, 16, v);
    start(&eight, 8, v);
    for (; v < end && v <= UINT32_MAX; v++) {
        decimal(&ten, (uint32_t)v);
        hexadecimal(&sixteen, (uint32_t)v);
        compare("octal", eight.image, eight.length, qrintf_octal(fresh(), v));
        advance(&ten);
        advance(&sixteen);
        advance(&eight);
    }
    printf("every number from %s, %s of them: no difference\n", arguments[1], arguments[2]);
    return 0;
}
