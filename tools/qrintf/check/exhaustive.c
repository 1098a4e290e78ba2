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
#define BEFORE 8

/* A text as it is expected in memory: room for what goes in front, the digits, filler. */
struct odometer {
    char image[BEFORE + IMAGE];
    int length;
    char letter, limit; /* what follows '9', and what follows the last digit */
};

static void start(struct odometer *o, int base, char letter, uint64_t v)
{
    char digits[IMAGE];
    int count = 0;
    memset(o->image, FILLER, sizeof o->image);
    o->letter = letter;
    o->limit = (char)(base > 10 ? letter + base - 10 : '0' + base);
    do {
        int digit = (int)(v % (unsigned int)base);
        digits[count++] = (char)(digit < 10 ? '0' + digit : letter + digit - 10);
    } while ((v /= (unsigned int)base) != 0);
    o->length = count;
    for (int i = 0; i < count; i++)
        o->image[BEFORE + i] = digits[count - 1 - i];
}

static inline void advance(struct odometer *o)
{
    char *first = o->image + BEFORE, *digit = first + o->length - 1;
    for (; digit >= first; digit--) {
        char next = (char)(*digit == '9' && o->limit > '9' + 1 ? o->letter : *digit + 1);
        if (next != o->limit) {
            *digit = next;
            return;
        }
        *digit = '0';
    }
    memmove(first + 1, first, (size_t)o->length++);
    *first = '1';
}

/* Where the functions write, with filler around it. */
static char area[BEFORE + IMAGE + BEFORE];

static inline char *fresh(void)
{
    memset(area, FILLER, sizeof area);
    return area + BEFORE;
}

static inline uint64_t load(const char *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

/* Whether `o` with `front` copies of a byte before it was written, and nothing else. */
static inline void compare(const char *what, struct odometer *o, char byte, int front, const char *end)
{
    const char *expected = o->image + BEFORE - front;
    uint64_t difference = load(area) ^ UINT64_C(0x0101010101010101) * (unsigned char)FILLER;
    for (int i = 0; i < front; i++)
        o->image[BEFORE - 1 - i] = byte;
    for (int i = 0; i < IMAGE; i += 8)
        difference |= load(area + BEFORE + i) ^ load(expected + i);
    if (difference != 0 || end != area + BEFORE + front + o->length) {
        fprintf(stderr, "%s: '%.*s' is expected, '%.24s' was written\n", what, front + o->length, expected, area + BEFORE);
        exit(1);
    }
}

static void decimal(struct odometer *o, uint32_t v)
{
    compare("u32", o, 0, 0, qrintf_u32(fresh(), v));
    compare("u64", o, 0, 0, qrintf_u64(fresh(), v));
    compare("integer", o, 0, 0, qrintf_integer(fresh(), v, 0, 'u', 0, -1));
    compare("i64", o, '-', v != 0, qrintf_i64(fresh(), -(int64_t)v));
    compare("u32_02", o, '0', v < 10, qrintf_u32_02(fresh(), v));
    if (v < 256)
        compare("u8", o, 0, 0, qrintf_u8(fresh(), v));
    if (v <= 1u << 31)
        compare("i32", o, '-', v != 0, qrintf_i32(fresh(), (int32_t)(0 - v)));
    if (v >> 31 == 0) {
        compare("i32", o, 0, 0, qrintf_i32(fresh(), (int32_t)v));
        compare("i32_02", o, '0', v < 10, qrintf_i32_02(fresh(), (int32_t)v));
    }
}

static void hexadecimal(struct odometer *o, uint32_t v, int upper)
{
    compare("hex32", o, 0, 0, qrintf_hex32(fresh(), v, upper));
    compare("hex64", o, 0, 0, qrintf_hex64(fresh(), v, upper));
    compare("hex32_08", o, '0', 8 - o->length, qrintf_hex32_08(fresh(), v, upper));
    if (v < 256)
        compare("hex8_02", o, '0', 2 - o->length, qrintf_hex8_02(fresh(), v, upper));
}

int main(int count, char **arguments)
{
    struct odometer ten, lower, upper, eight;
    uint64_t v, end;
    if (count != 3) {
        fprintf(stderr, "usage: exhaustive FIRST COUNT\n");
        return 2;
    }
    v = strtoull(arguments[1], NULL, 0);
    end = v + strtoull(arguments[2], NULL, 0);
    start(&ten, 10, 'a', v);
    start(&lower, 16, 'a', v);
    start(&upper, 16, 'A', v);
    start(&eight, 8, 'a', v);
    for (; v < end && v <= UINT32_MAX; v++) {
        decimal(&ten, (uint32_t)v);
        hexadecimal(&lower, (uint32_t)v, 0);
        hexadecimal(&upper, (uint32_t)v, 1);
        compare("octal", &eight, 0, 0, qrintf_octal(fresh(), v));
        advance(&ten);
        advance(&lower);
        advance(&upper);
        advance(&eight);
    }
    printf("every number from %s, %s of them: no difference\n", arguments[1], arguments[2]);
    return 0;
}
