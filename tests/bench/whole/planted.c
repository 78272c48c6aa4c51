/* Forty functions whose costs are known: planted UNITS HOT. One has a fifth of the work, HOT per cent of that (100: as
 * it is), the others less and less. Prints how many units it did. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

volatile uint64_t most =
    2000; /* steps a unit of the dearest function but `hot`; volatile, so that no copy is made for it */

/* Each step needs the last one's result, and each function has a constant of its own, so that none are merged. */
#define FUNCTION(name, constant)                                                     \
    __attribute__((noinline)) static uint64_t name(uint64_t value, uint64_t steps) { \
        for (uint64_t i = 0; i < steps; ++i) value = value * (2 * constant + 3) + i; \
        return value;                                                                \
    }
/* clang-format off */
#define EACH(F) \
    F(1) F(2) F(3) F(4) F(5) F(6) F(7) F(8) F(9) F(10) F(11) F(12) F(13) F(14) F(15) F(16) F(17) F(18) F(19) F(20) \
    F(21) F(22) F(23) F(24) F(25) F(26) F(27) F(28) F(29) F(30) F(31) F(32) F(33) F(34) F(35) F(36) F(37) F(38) F(39)
/* clang-format on */
#define OTHER(n) FUNCTION(other_##n, n)
EACH(OTHER)
FUNCTION(hot, 1000)

int main(int argc, char** argv) {
    if (argc != 3) return fputs("usage: planted UNITS HOT\n", stderr), 2;
    const long units = atol(argv[1]), percent = atol(argv[2]);
    const uint64_t rounds = most;
    uint64_t value = 1, others = 0;
#define STEPS(n) others += rounds / n;
    EACH(STEPS)
    for (long unit = 0; unit < units; ++unit) {
        value = hot(value, others / 4 * (uint64_t)percent / 100);
#define CALL(n) value = other_##n(value, rounds / n);
        EACH(CALL)
    }
    printf("done %ld units\n", value == 0 ? 0 : units);
    return 0;
}
