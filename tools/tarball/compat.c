// Functions that Debian 12's compiler and our own code use and glibc 2.31 lacks. Linked into every part of the tarball;
// hidden, so that no host meets it.
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

// glibc 2.32: libstdc++ leaves out atomic instructions where it is true. False is always right.
char __libc_single_threaded = 0;

// glibc 2.32.
const char* strerrordesc_np(int error);
const char* strerrordesc_np(int error) { return strerror(error); }

// glibc 2.32.
const char* sigabbrev_np(int number);
const char* sigabbrev_np(int number) {
    static const char names[][8] = {"HUP",  "INT",    "QUIT", "ILL",   "TRAP", "ABRT", "BUS",  "FPE",
                                    "KILL", "USR1",   "SEGV", "USR2",  "PIPE", "ALRM", "TERM", "STKFLT",
                                    "CHLD", "CONT",   "STOP", "TSTP",  "TTIN", "TTOU", "URG",  "XCPU",
                                    "XFSZ", "VTALRM", "PROF", "WINCH", "POLL", "PWR",  "SYS"};
    return number >= 1 && number <= 31 ? names[number - 1] : 0;
}

// glibc 2.32.
const char* sigdescr_np(int number);
const char* sigdescr_np(int number) { return number >= 1 && number < NSIG ? sys_siglist[number] : 0; }

// glibc 2.36, for std::random_device.
unsigned arc4random(void);
unsigned arc4random(void) {
    unsigned number = 0;
    if (getrandom(&number, sizeof number, 0) != sizeof number) abort();
    return number;
}
