/* inputs.c: the random arguments of the rows, the same in every run. */
#include <math.h>
#include <string.h>

#include "rows.h"

static uint64_t state = 0x9e3779b97f4a7c15;

/* xorshift64*, as Vigna gave it. */
static uint64_t draw(void)
{
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return state * 0x2545f4914f6cdd1d;
}

static unsigned int below(unsigned int limit)
{
    return (unsigned int)(draw() >> 32) % limit;
}

/* A number that has any number of digits up to `digits_max`, all alike. */
static uint64_t any(unsigned int digits_max)
{
    uint64_t low = 1;
    for (unsigned int digits = below(digits_max); digits > 0; digits--)
        low *= 10;
    return low + draw() % (9 * low);
}

/* Pieces of one text, so that the strings lie where no call has just written them. */
static const char *piece(unsigned int length_max)
{
    static char pool[1 << 16];
    static size_t used;
    unsigned int length = 1 + below(length_max);
    char *start = pool + used;
    if (used + length + 1 > sizeof pool)
        start = pool, used = 0;
    for (unsigned int i = 0; i < length; i++)
        start[i] = (char)('a' + below(26));
    start[length] = 0;
    used += length + 1;
    return start;
}

void inputs_fill(struct input *inputs, size_t count)
{
    static const char *const months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    static const char *const methods[] = {"GET", "GET", "GET", "POST", "HEAD"};
    static const int statuses[] = {200, 200, 200, 304, 404};
    static const char *const addresses[] = {"10.0.0.7", "192.168.100.200", "203.0.113.9", "2001:db8::1"};
    for (size_t i = 0; i < count; i++) {
        struct input *in = &inputs[i];
        in->any = (int)any(9) * (below(2) ? 1 : -1);
        in->any_unsigned = (unsigned int)any(9);
        in->any_long = (long long)any(18) * (below(2) ? 1 : -1);
        in->size = (size_t)any(6);
        in->minute = (int)below(60);
        in->second = (int)below(60);
        in->hour = (int)below(24);
        in->day = 1 + (int)below(31);
        in->year = 2020 + (int)below(10);
        in->status = statuses[below(5)];
        in->word = (unsigned int)draw();
        for (int octet = 0; octet < 4; octet++)
            in->octet[octet] = below(256);
        in->fixed = (double)(int64_t)(draw() >> 11) / 9007199254740992.0 * 2000 - 1000;
        in->plain = (double)(draw() >> 11) / 9007199254740992.0 * pow(10, (double)below(8) - 2);
        in->wide = (double)(draw() >> 11) / 9007199254740992.0 * pow(10, (double)below(600) - 300);
        in->letter = (char)('a' + below(26));
        in->key = piece(12);
        in->value = piece(30);
        in->path = piece(40);
        in->month = months[below(12)];
        in->method = methods[below(5)];
        in->address = addresses[below(4)];
        in->pointer = (const void *)(uintptr_t)(0x7f0000000000 + (draw() >> 24 & 0xffffffffff));
    }
}
