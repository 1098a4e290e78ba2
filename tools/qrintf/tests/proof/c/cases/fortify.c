/* Violations that `_FORTIFY_SOURCE` ends the program for; the argument chooses one. What returns prints "survived". */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct object {
    char text[8];
    char after[8];
};

static char writable[] = "%d%n";

int main(int count, char **arguments)
{
    static struct object object;
    char small[8];
    volatile int value = 123456789;
    volatile size_t size = 9;
    const char *volatile text = "longer than eight";
    char *allocated = malloc(8);
    int stored = 0;

    if (count < 2 || allocated == NULL)
        return 2;
    switch (atoi(arguments[1])) {
    case 0: /* fits: must survive */
        sprintf(small, "%d", value / 100);
        snprintf(small, size - 1, "%s", text);
        snprintf(object.text, sizeof object.text, "%d-%s", value, text);
        sprintf(allocated, "%d", value / 1000);
        break;
    case 1:
        sprintf(small, "%d", value);
        break;
    case 2:
        sprintf(small, "%s", text);
        break;
    case 3:
        sprintf(small, "%s%d", "abc", value);
        break;
    case 4: /* the size is what counts, not what is written */
        snprintf(small, size, "%d", 1);
        break;
    case 5:
        snprintf(small, size, "%s%d", text, value);
        break;
    case 6:
        sprintf(object.text, "%d", value);
        break;
    case 7:
        snprintf(object.text, sizeof object, "%d", 1);
        break;
    case 8:
        sprintf(allocated, "%x-%x", value, value);
        break;
    case 9:
        snprintf(small, sizeof small, writable, value, &stored);
        break;
    case 10:
        printf(writable, value, &stored);
        break;
    case 11:
        fprintf(stdout, writable, value, &stored);
        break;
    case 12:
        sprintf(small, "%.3f", value / 3.0);
        break;
    case 13:
        sprintf(small, "%*d", value / 10000000, 5);
        break;
    case 14:
        sprintf(small + 4, "%04d", value / 100000);
        break;
    case 15: /* exactly full: the terminator is one too many */
        sprintf(small, "%08x", 1);
        break;
    case 16: /* no size at all may exceed the object */
        snprintf(small, (size_t)-1, "%d", 1);
        break;
    default:
        return 2;
    }
    puts("survived");
    printf("%.1s%.1s%.1s%d\n", small, object.text, allocated, stored);
    return 0;
}
