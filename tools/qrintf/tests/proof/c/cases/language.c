/* Calls as programs spell them: what a macro in the place of a function could break. Compiled with warnings as errors,
 * so it also shows that valid code stays silent. */
#include "case.h"

#include <stdarg.h>
#include <stdint.h>

struct bits {
    unsigned small : 5;
    int negative : 7;
    unsigned long long wide : 40;
    _Bool flag : 1;
};

enum colour { RED, GREEN = 7, BLUE = -3 };
enum large { LARGE = 0xfffffffful };

struct object {
    int (*snprintf_)(char *, size_t, const char *, ...);
    char name[8];
    int numbers[3];
};

static int calls;
static volatile int never;

static int once(int value)
{
    calls++;
    return value;
}

static const char *text_once(const char *text)
{
    calls++;
    return text;
}

static char *buffer_once(char *buffer)
{
    calls++;
    return buffer;
}

static void evaluation(void)
{
    char buffer[200];
    char *p = buffer;
    int i = 3;
    const char *words[] = {"zero", "one", "two"};
    const char **word = words;
    unsigned j = 0;
    double d = 1.5;

    CHECK(snprintf(p++, sizeof buffer, "%d", i++) == 1 && i == 4 && p == buffer + 1 && buffer[0] == '3');
    CHECK(sprintf(p++, "%d-%d", i++, 5) == 3 && i == 5 && strcmp(buffer + 1, "4-5") == 0 && p == buffer + 2);
    CHECK(snprintf(buffer, sizeof buffer, "%s %s", *word++, "x") == 6 && word == words + 1);
    CHECK(snprintf(buffer, sizeof buffer, "%.*s|", i--, words[++j]) == 4 && i == 4 && j == 1);
    CHECK(snprintf(buffer, sizeof buffer, "%f", d += 1) == 8 && d > 2.4 && d < 2.6);
    calls = 0;
    snprintf(buffer_once(buffer), (size_t)once(50), "%d %s %*d", once(1), text_once("x"), once(4), once(2));
    CHECK(calls == 6);
    calls = 0;
    sprintf(buffer_once(buffer), "%d", once(1));
    CHECK(calls == 2);
    calls = 0;
    snprintf(NULL, 0, "%d", once(1));
    CHECK(calls == 1);
    calls = 0;
    snprintf(buffer_once(buffer), 3, "%d%d%d", once(1), once(22), once(333));
    CHECK(calls == 4 && strcmp(buffer, "12") == 0);
    calls = 0;
    printf("%s%d\n", text_once("printf "), once(1));
    fprintf(stdout, "%s%d\n", text_once("fprintf "), once(1));
    CHECK(calls == 4);
    {
        volatile int read_once = 8;
        SAME("%d %d", read_once, read_once);
    }
    {
        int n = 4, steps = 0;
        int rows[2][4] = {{1, 2, 3, 4}, {5, 6, 7, 8}};
        int(*row)[n] = (int(*)[n])rows;
        snprintf(buffer, sizeof buffer, "%p", (void *)(row + steps++));
        CHECK(steps == 1);
        CHECK(snprintf(buffer, sizeof buffer, "%d", (*row++)[1]) == 1 && buffer[0] == '2');
        CHECK((void *)row == (void *)&rows[1]);
    }
}

static void types(void)
{
    struct bits bits = {21, -33, 0x8123456789ull, 1};
    struct object object = {NULL, "name", {1, 2, 3}};
    enum colour colour = BLUE;
    enum large large = LARGE;
    char array[] = "array";
    const unsigned char octets[] = "octets";
    short s = -5;
    char c = 'c';
    float f = 0.1f;
    const int constant = 12;
    register int in_register = 13;

    SAME("%u %d %d", bits.small, bits.negative, bits.flag);
    SAME("%d %d", bits.small, bits.small + 1);
    SAME("%llx", (unsigned long long)bits.wide);
    SAME("%s %d", object.name, object.numbers[1]);
    SAME("%d %d %u", colour, GREEN, (unsigned)large);
    SAME("%s %.2s %s", array, array, (const char *)octets);
    SAME("%d %hd %c %hhd", s, s, c, c);
    SAME("%f %g %.3f", f, f, f * 2);
    SAME("%d %d", constant, in_register);
    SAME("%p %p", (void *)&object, (void *)object.numbers);
    SAME("%s", colour == RED ? "red" : "other");
    SAME("%zu %td %jd", sizeof object, &object.numbers[2] - &object.numbers[0], (intmax_t)-1);
    SAME("%d", (int){42});
    SAME("%s", (char[]){"compound"});
    SAME("%d", (once(1), 2));
    SAME("%d", ({ int x = 3; x * x; }));
    SAME("%s %s", __func__, __FILE__);
    SAME("%d", 'a' < 'b' && 1);
    SAME("%c%c%c", 0, 'x', 300);
    SAME("%s", &"offset"[3]);
}

static int as_value(char *buffer, int value)
{
    return snprintf(buffer, 20, "%d", value) + snprintf(NULL, 0, "%x", value);
}

static void positions(void)
{
    char buffer[100], other[100];
    int (*pointer)(char *, size_t, const char *, ...) = snprintf;
    int (*address)(char *, size_t, const char *, ...) = &snprintf;
    struct object object = {snprintf, "", {0, 0, 0}};
    int i, length = 0;

    if (buffer[0] = 0, snprintf(buffer, sizeof buffer, "%d", 7) == 1)
        snprintf(other, sizeof other, "%d", 8);
    else
        snprintf(other, sizeof other, "%d", 9);
    CHECK(other[0] == '8');
    if (buffer[0] == '7') sprintf(other, "%d", 1); else sprintf(other, "%d", 2);
    CHECK(other[0] == '1');
    for (i = 0; snprintf(buffer, sizeof buffer, "%d", i) < 2; i += snprintf(other, 3, "%d", 5))
        length++;
    CHECK(i == 10 && length == 10);
    do
        length--;
    while (sprintf(buffer, "%d", length) > 1);
    CHECK(as_value(buffer, 255) == 5);
    CHECK(pointer(buffer, 10, "%d", 12) == 2 && address(buffer, 10, "%d", 12) == 2);
    CHECK(object.snprintf_(buffer, 10, "%d", 12) == 2 && (object.snprintf_)(buffer, 10, "%d", 1) == 1);
    CHECK((snprintf)(buffer, 10, "%d", 123) == 3 && (&snprintf)(buffer, 10, "%d", 1) == 1);
    CHECK(snprintf
          (buffer, 10, "%d", 1234) == 4);
    CHECK(sizeof(snprintf(buffer, 10, "%d", 1)) == sizeof(int));
    CHECK(-snprintf(buffer, 10, "%d", 1) == -1 && !snprintf(buffer, 10, "%s", ""));
    (void)snprintf(buffer, sizeof buffer, "%s", "void");
    snprintf(buffer, sizeof buffer, "%d%s", snprintf(other, sizeof other, "%d", 12345), other);
    CHECK(buffer[0] == '5');
    CHECK(snprintf(buffer, (size_t)snprintf(other, 10, "%s", "abc"), "%d %d", snprintf(NULL, 0, "%d", 10),
                   snprintf(NULL, 0, "%.*f", snprintf(NULL, 0, "%d", 1), 1.25)) == 3);
    switch (snprintf(buffer, sizeof buffer, "%d", 3)) {
    case 1:
        if (i)
            printf("%d\n", i);
        else
            printf("%s\n", "none");
        break;
    default:
        CHECK(0);
    }
    length = i ? snprintf(buffer, 5, "%d", 1) : snprintf(buffer, 5, "%d", 22);
    CHECK(length == 1);
#define WRAPPED(to, ...) snprintf(to, sizeof to, __VA_ARGS__)
    CHECK(WRAPPED(buffer, "%d", 5) == 1 && WRAPPED(buffer, "%d-%d", 5, 6) == 3 && WRAPPED(buffer, "plain") == 5);
    CHECK(snprintf(buffer, sizeof buffer, "%d%s", 4,
#ifdef QRINTF_PROOF_NOT_DEFINED
                   "defined"
#else
                   "undefined"
#endif
                   ) == 10);
}

static __attribute__((__format__(__printf__, 3, 4))) int forward(char *to, size_t size, const char *format, ...)
{
    va_list list;
    int result;

    va_start(list, format);
    result = vsnprintf(to, size, format, list);
    va_end(list);
    return result;
}

static void formats(void)
{
    static const char constant[] = "%d %s";
    static const char *const pointer = "%d %s";
    char local[] = "%d %s";
    static char changed[] = "%d %s";
    const char *chosen = never ? "%d %s" : "%x %s";
    char buffer[100];

    local[1] = 'x';
    changed[1] = 'o';
    SAME(constant, 20, "a");
    SAME(pointer, 20, "a");
    CHECK(snprintf(buffer, sizeof buffer, local, 20, "a") == 4 && strcmp(buffer, "14 a") == 0);
    CHECK(snprintf(buffer, sizeof buffer, changed, 20, "a") == 4 && strcmp(buffer, "24 a") == 0);
    CHECK(snprintf(buffer, sizeof buffer, chosen, 20, "a") == 4 && strcmp(buffer, "14 a") == 0);
    CHECK(snprintf(buffer, sizeof buffer, never ? "%d" : "%o", 20) == 2 && strcmp(buffer, "24") == 0);
    CHECK(snprintf(buffer, sizeof buffer, &"ab%d"[2], 20) == 2 && strcmp(buffer, "20") == 0);
    CHECK(snprintf(buffer, sizeof buffer, "ab%d" + 1, 20) == 3 && strcmp(buffer, "b20") == 0);
    SAME(("%d"), 5);
    SAME((const char *)"%d", 5);
    SAME("%" "d" "%" "s", 5, "x");
    CHECK(forward(buffer, sizeof buffer, "%d %s", 1, "two") == 5 && strcmp(buffer, "1 two") == 0);
}

static void many(void)
{
    SAME("%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d", 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16);
    SAME("%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d", 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17);
    SAME("%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d", 1, 2, 3, 4, 5, 6, 7, 8, 9,
         10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37,
         38, 39, 40);
}

/* The idiom that appends to its own destination: undefined by the standard, relied upon by programs; what checks sizes
 * in glibc clears the destination first, and musl has no such habit to keep. */
static void append(void)
{
#ifdef __GLIBC__
    char ours[40] = "start", theirs[40] = "start";

# if defined _FORTIFY_SOURCE && _FORTIFY_SOURCE > 0
    real_sprintf(ours, "%s-%d", ours, 7);
# else
    sprintf(ours, "%s-%d", ours, 7);
# endif
    real_sprintf(theirs, "%s-%d", theirs, 7);
    CHECK(strcmp(ours, theirs) == 0);
    sprintf(ours + strlen(ours), "+%d", 8);
    CHECK(strcmp(ours, "start-7+8") == 0);
#endif
}

int main(void)
{
    evaluation();
    types();
    positions();
    formats();
    many();
    append();
    return failures != 0;
}
