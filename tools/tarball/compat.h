/* Included before every file of the tarball's build: what glibc 2.31's headers do not declare. */
#include <sys/syscall.h>

#ifndef SYS_close_range
#define SYS_close_range __NR_close_range
#endif
#ifndef SYS_openat2
#define SYS_openat2 __NR_openat2
#endif
#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd __NR_pidfd_getfd
#endif

#ifdef __ASSEMBLER__ /* tools/one/pack's */
#elif defined __cplusplus
extern "C" int execveat(int directory, const char* path, char* const arguments[], char* const environment[],
                        int flags) noexcept;
extern "C" const char* strerrordesc_np(int error) noexcept;
extern "C" const char* sigabbrev_np(int number) noexcept;
extern "C" const char* sigdescr_np(int number) noexcept;
#else
const char* strerrordesc_np(int error);
const char* sigabbrev_np(int number);
const char* sigdescr_np(int number);
#endif
