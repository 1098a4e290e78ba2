/* Arguments of %p whose types make trouble: one that depends on a value, and one that is no pointer at all. */
#include "case.h"

/* Wrong, but plain compilers only warn; not called. */
void mistyped(char *to, double share);
void mistyped(char *to, double share)
{
    sprintf(to, "%p", share);
}

int main(void)
{
    char buffer[100];
    int n = 4, steps = 0;
    int rows[2][4] = {{1, 2, 3, 4}, {5, 6, 7, 8}};
    int(*row)[n] = (int(*)[n])rows;

    /* The type of this argument depends on n, so `typeof` alone would evaluate it too. */
    snprintf(buffer, sizeof buffer, "%p", row + steps++);
    CHECK(steps == 1);
    return failures != 0;
}
