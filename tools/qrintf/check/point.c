/* point.c: with another decimal point than ".", doubles are left to libc. The locale is made up: nl_langinfo is ours. */
#include "check.h"

#ifdef __GLIBC__
static const char *point;
char *nl_langinfo(int item);
char *nl_langinfo(int item)
{
    (void)item;
    return (char *)(uintptr_t)point;
}

int main(void)
{
    static const char *const others[] = {",", "", "..", "\xd9\xab"};
    for (int i = 0; i < 4; i++) {
        point = others[i];
        if (qrintf_double(check_out(ROOM), 1.5, 'f', 0, 1) != NULL) {
            fprintf(stderr, "the decimal point '%s' was not noticed\n", point);
            return 1;
        }
    }
    point = ".";
    if (qrintf_double(check_out(ROOM), 1.5, 'f', 0, 1) == NULL) {
        fprintf(stderr, "the decimal point '.' was refused\n");
        return 1;
    }
    printf("the decimal point is respected\n");
    return 0;
}
#else
int main(void)
{
    printf("this libc has one decimal point\n");
    return 0;
}
#endif
