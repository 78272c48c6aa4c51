// Replacing the process's image by number, for syscall(2).
#pragma once

namespace flameprobe {

long execve_by_number(long number, const char* path, char* const arguments[], char* const environment[]) noexcept;
long execveat_by_number(long number, int directory, const char* path, char* const arguments[],
                        char* const environment[], int flags) noexcept;

}  // namespace flameprobe
