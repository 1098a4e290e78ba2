/*
 * mixtures.c: random flags, widths and precisions of %d %i %u %x %X %o %p %s, against libc.
 *
 * usage: mixtures COUNT [SEED]
 */
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"

#define STRING_MAX 60

static uint64_t compared, left;

/* The end of readable memory: a string that is put before it has nothing behind. */
static char *readable_end(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *pages = (char *)mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED || mprotect(pages + page, page, PROT_NONE) != 0) {
        perror("mixtures");
        exit(1);
    }
    return pages + page;
}

static void expect(const char *format, int width, int precision, const char *text, int length, const char *end)
{
    char what[96];
    if (end == NULL) {
        left++;
        return;
    }
    compared++;
    if (!check_same(text, (size_t)length, end, ROOM)) {
        snprintf(what, sizeof what, "%s, width %d, precision %d", format, width, precision);
        check_fail(what, text, end);
    }
}

static void integer(int width, int precision)
{
    static const char *const tails[] = {"*.*" PRId64, "*.*" PRIi64, "*.*" PRIu64, "*.*" PRIx64, "*.*" PRIX64, "*.*" PRIo64};
    const char *tail = tails[check_below(6)];
    char format[32], text[ROOM];
    uint64_t v = check_below(20) ? check_any() : 0;
    unsigned int letter = (unsigned char)tail[strlen(tail) - 1], flags = check_format(format, tail);
    int negative = (letter == 'd' || letter == 'i') && v >> 63;
    int length = snprintf(text, sizeof text, format, width, precision, v);
    char *end = qrintf_integer(check_out(ROOM), negative ? 0 - v : v, negative, letter | flags, width, precision);
    expect(format, width, precision, text, length, end);
}

static void pointer(int width, int precision)
{
    char format[32], text[ROOM];
    void *v = (void *)(uintptr_t)(check_below(8) ? check_any() : 0);
    unsigned int flags = check_format(format, "*.*p");
    int length = snprintf(text, sizeof text, format, width, precision, v);
    expect(format, width, precision, text, length, qrintf_pointer(check_out(ROOM), v, 'p' | flags, width, precision));
}

/* Without its terminator where a precision says that it is not looked for. */
static void string(int width, int precision, char *memory_end)
{
    char format[32], text[ROOM];
    unsigned int size = check_below(STRING_MAX), flags = check_format(format, "*.*s");
    int terminated = precision < 0 || (unsigned int)precision > size;
    char *s = memory_end - size - (unsigned int)terminated;
    const char *null = qrintf_null_text(precision);
    int length;
    memset(s, 'a' + (int)(size % 26), size);
    if (terminated)
        s[size] = 0;
    length = snprintf(text, sizeof text, format, width, precision, s);
    expect(format, width, precision, text, length,
           qrintf_string_padded(check_out(ROOM), s, qrintf_length(s, precision), flags, width));
    length = snprintf(text, sizeof text, format, width, precision, (char *)NULL);
    expect(format, width, precision, text, length,
           null ? qrintf_string_padded(check_out(ROOM), null, qrintf_length(null, precision), flags, width) : NULL);
}

static int small(int limit, int one_in)
{
    return check_below((unsigned int)one_in) ? (int)check_below((unsigned int)limit * 2) - limit : (int)check_below(500);
}

int main(int count, char **arguments)
{
    uint64_t texts = count > 1 ? strtoull(arguments[1], NULL, 0) : 100000;
    char *memory_end = readable_end();
    check_state ^= count > 2 ? strtoull(arguments[2], NULL, 0) * 0x9e3779b97f4a7c15 : 0;
    for (uint64_t i = 0; i < texts; i++) {
        int width = check_below(2) ? small(28, 64) : 0, precision = check_below(2) ? small(24, 64) : -1;
        switch (check_below(4)) {
        case 0:
            pointer(width, precision);
            break;
        case 1:
            string(width, precision, memory_end);
            break;
        default:
            integer(width, precision);
        }
    }
    printf("%" PRIu64 " mixtures: no difference; %" PRIu64 " left to libc\n", compared, left);
    return 0;
}
