// C++: calls through std::, of members and of functions of one's own, templates, and addresses, with the overloads of
// QRINTF_CXX and without them.
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>

static int (*volatile real_snprintf)(char *, std::size_t, const char *, ...) = std::snprintf;
static int failures;

static void check(bool holds, const char *what, int line)
{
    if (holds)
        return;
    failures++;
    std::fputs(what, stderr);
    std::fputs(" at line ", stderr);
    std::fputs(std::to_string(line).c_str(), stderr);
    std::fputs("\n", stderr);
}

#define CHECK(...) check((__VA_ARGS__), #__VA_ARGS__, __LINE__)
#define SAME(...)                                                                                                      \
    do {                                                                                                               \
        char ours[256], theirs[256];                                                                                   \
        std::memset(ours, 'x', sizeof ours);                                                                           \
        std::memset(theirs, 'x', sizeof theirs);                                                                       \
        const int one = std::snprintf(ours, sizeof ours, __VA_ARGS__);                                                 \
        const int other = real_snprintf(theirs, sizeof theirs, __VA_ARGS__);                                           \
        check(one == other && std::memcmp(ours, theirs, sizeof ours) == 0, #__VA_ARGS__, __LINE__);                    \
    } while (0)

struct Printer {
    int snprintf(char *, std::size_t, const char *, ...) { return 77; }
    static int sprintf(char *, const char *, ...) { return 78; }
    int printf(const char *, ...) const { return 79; }
};

namespace own {
int snprintf(char *, std::size_t, const char *, int) { return 80; }
int call(char *to) { return snprintf(to, 9, "%d", 1); }
}

template <typename T> static int generic(char *to, std::size_t size, T value)
{
    return snprintf(to, size, "%d", static_cast<int>(value));
}

template <std::size_t N> static int sized(char (&to)[N], int value)
{
    return snprintf(to, N, "<%5d>", value);
}

enum Plain { ZERO, ONE };

int main()
{
    char buffer[100];
    Printer printer;
    int i = 4;
    const std::string text = "string";
    int (*address)(char *, std::size_t, const char *, ...) = &std::snprintf;

    SAME("%d %s %x %5.2f %c", 5, text.c_str(), 255u, 1.005, 'c');
    SAME("%u.%u.%u.%u", 127u, 0u, 0u, 1u);
    SAME("%ld %lld %zu %hhd %p", 5L, -6LL, sizeof i, 300, static_cast<void *>(&i));
    SAME("%-10s|%*d|%.*s", "left", 6, 7, 2, "cut");
    SAME("%d %d", ONE, true);
    SAME("plain");
    SAME("%s", static_cast<const char *>("literal"));
    SAME("%g %e %f", 1e100, 1e-100, -0.0);
    CHECK(printer.snprintf(buffer, 9, "%d", 1) == 77 && Printer::sprintf(buffer, "%d", 1) == 78);
    CHECK(printer.printf("%d", 1) == 79 && own::call(buffer) == 80);
    CHECK(address(buffer, sizeof buffer, "%d", 12) == 2);
    CHECK(generic(buffer, sizeof buffer, 7L) == 1 && sized(buffer, 3) == 7);
    CHECK(snprintf(buffer, sizeof buffer, "%d", i++) == 1 && i == 5 && ::snprintf(buffer, 2, "%d", 123) == 3);
    CHECK(std::snprintf(nullptr, 0, "%d", 123456) == 6);
    CHECK(sprintf(buffer, "%d", 1) == 1 && std::sprintf(buffer, "%d%s", 1, "x") == 2);
    CHECK([&] { return snprintf(buffer, sizeof buffer, "%d", i); }() == 1);
    const char *volatile format = "%x";
    CHECK(snprintf(buffer, sizeof buffer, format, 255) == 2 && std::strcmp(buffer, "ff") == 0);
    std::printf("%d %s\n", 1, text.c_str());
    std::fprintf(stdout, "%d %s\n", 2, text.c_str());
    return failures != 0;
}
