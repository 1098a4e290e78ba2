/* Calls every form through namespaces and methods, and compares with libc's function by way of a pointer. */
#include <cstdio>
#include <cstring>
#include <cerrno>
#include <cstdlib>
#include <climits>
#include <initializer_list>
#include <unistd.h>

static int (*volatile libc_snprintf)(char *, std::size_t, const char *, ...) = &std::snprintf;
static int (*volatile libc_dprintf)(int, const char *, ...) = &dprintf;
static int failures;

struct logger {
    int calls = 0;
    int snprintf(char *, std::size_t, const char *) { return ++calls; }
    int printf(const char *, int) { return ++calls; }
};
namespace mine {
inline int sprintf(char *, const char *, int) { return -7; }
}
enum color { red, green = 7 };
enum class shade : unsigned char { dark = 200 };

template <class... A> static void expect(int line, const char *got, int length, std::size_t size, const char *format, A... a)
{
    char want[400];
    std::memset(want, 'x', sizeof want);
    const int wanted = libc_snprintf(want, size, format, a...);
    if (length != wanted || std::memcmp(got, want, sizeof want) != 0) {
        std::fputs(want, stderr);
        std::fputs(" != ", stderr);
        std::fputs(got, stderr);
        libc_snprintf(want, sizeof want, " (line %d: %d, not %d)\n", line, length, wanted);
        std::fputs(want, stderr);
        ++failures;
    }
}

#define CHECK(size, ...)                                          \
    do {                                                          \
        char got[400];                                            \
        std::memset(got, 'x', sizeof got);                        \
        const int length = std::snprintf(got, size, __VA_ARGS__); \
        expect(__LINE__, got, length, size, __VA_ARGS__);         \
    } while (0)

static void values(int i, unsigned int u, long l, unsigned long long q, double d, const char *s, void *p)
{
    for (std::size_t size : {400ul, 64ul, 16ul, 8ul, 3ul, 1ul, 0ul}) {
        CHECK(size, "%d", i);
        CHECK(size, "%u.%u.%u.%u", u & 255, u >> 8 & 255, u >> 16 & 255, u >> 24);
        CHECK(size, "%08x-%zx", u, static_cast<std::size_t>(q));
        CHECK(size, "%02d:%02d:%02d", i % 24, i % 60, i % 61);
        CHECK(size, "%ld %llu %#llx %o", l, q, q, u);
        CHECK(size, "%hhd %hd %hhu %hX", static_cast<signed char>(i), static_cast<short>(i), static_cast<unsigned char>(u), static_cast<unsigned short>(u));
        CHECK(size, "%+d|% d|%-8d|%08d|%8.3d|%.0d", i, i, i, i, i, i);
        CHECK(size, "%s: %s\r\n", s, "constant");
        CHECK(size, "%10s|%-10s|%.2s|%*s|%-*s|%.*s", s, s, s, 7, s, 7, s, i, s);
        CHECK(size, "%*.*d", i % 30, i % 10, i);
        CHECK(size, "100%%%s%%", s);
        CHECK(size, "50%% of %d", i);
        CHECK(size, "%.3f %g %.17g %e", d, d, d, d);
        CHECK(size, "%G %#.0f %+010.2f %-12.3E|", d, d, d, d);
        CHECK(size, "%p %p", p, static_cast<void *>(nullptr));
        CHECK(size, "%c%c%3c|%-3c|", i, 'x', i, i);
        CHECK(size, "%d %d %d", i != 0, static_cast<int>(red), green);
        CHECK(size, "%5s|%a|%Lf", s, d, static_cast<long double>(d));
    }
}

int main()
{
    static const double doubles[] = {0.0, -0.0, 1.0, 1.5, 0.1, 1e300, -2.5e-7, 123456.789, 9.9995, 1e22};
    static const char *const strings[] = {"", "a", "hello, world", "a somewhat longer text than the others are"};
    unsigned long long q = 88172645463325252ull;
    for (int round = 0; round < 300; ++round) {
        q ^= q << 13, q ^= q >> 7, q ^= q << 17;
        const unsigned long long bits = q >> (round % 64);
        const int i = round == 0 ? INT_MIN : static_cast<int>(bits);
        values(i % 100000 == 0 ? i : i % 200, static_cast<unsigned int>(bits), static_cast<long>(bits), bits,
               doubles[round % 10] * (1 + (round > 100) * static_cast<double>(bits % 1000)), strings[round % 4], reinterpret_cast<void *>(bits));
    }

    char b[64];
    logger l;
    if (l.snprintf(b, 1, "x") != 1 || l.printf("%d", 3) != 2 || mine::sprintf(b, "%d", 3) != -7)
        ++failures;
    if (::snprintf(b, sizeof b, "%d", 42) != 2 || std::strcmp(b, "42") != 0)
        ++failures;
    {
        using namespace std;
        if (sprintf(b, "%s-%d", "x", 7) != 3 || strcmp(b, "x-7") != 0)
            ++failures;
    }
    int evaluated = 0;
    if (std::sprintf(b, "%d", ++evaluated) != 1 || evaluated != 1)
        ++failures;
    struct {
        unsigned int three : 3;
    } bits = {5};
    if (std::snprintf(b, sizeof b, "%u", +bits.three) != 1 || b[0] != '5')
        ++failures;
    if (std::snprintf(b, sizeof b, "%d", static_cast<int>(shade::dark)) != 3)
        ++failures;
    char *made = nullptr;
    if (asprintf(&made, "%s-%5.2f-%x", "made", 2.5, 255u) != 13 || std::strcmp(made, "made- 2.50-ff") != 0)
        ++failures;
    std::free(made);
    int pipes[2];
    if (pipe(pipes) != 0 || dprintf(pipes[1], "<%d|%s>", -5, "x") != 6 || read(pipes[0], b, sizeof b) != 6
        || std::memcmp(b, "<-5|x>", 6) != 0)
        ++failures;
    close(pipes[1]);
    errno = 0;
    if (dprintf(pipes[1], "%d", 1) != -1 || errno != EBADF || dprintf(pipes[1], "%s", "") != libc_dprintf(pipes[1], "%s", ""))
        ++failures;
    close(pipes[0]);
    std::printf("%d %s\n", failures, "failures");
    std::fprintf(stdout, "%5.2f|%-4d|\n", 3.14159, 7);
    std::printf("plain\n");
    return failures != 0;
}
