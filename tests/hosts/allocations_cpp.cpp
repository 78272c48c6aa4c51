// Allocates by C++ at known sites, and says on stdout how many bytes each asked for: "site bytes calls".
#include <unistd.h>

#include <cstdio>
#include <new>
#include <stdexcept>

namespace {

#define SITE __attribute__((noinline, noclone))

template <class T>
T* keep(T* memory) {
    asm volatile("" : "+r"(memory) : : "memory");
    return memory;
}

struct alignas(128) Wide {
    char bytes[6400];
};

}  // namespace

SITE void new_site(int calls) {
    for (int i = 0; i < calls; ++i) delete[] keep(new char[1][5000]);
}
SITE void array_site(int calls) {
    for (int i = 0; i < calls; ++i) delete[] keep(new char[7000]);
}
SITE void aligned_new_site(int calls) {
    for (int i = 0; i < calls; ++i) delete keep(new Wide);
}
SITE void nothrow_site(int calls) {
    for (int i = 0; i < calls; ++i) operator delete(keep(operator new(4000, std::nothrow)), std::nothrow);
}
// All that the standard has, each made by one form and removed by one that goes with it.
SITE void forms_site(int calls) {
    using Alignment = std::align_val_t;
    constexpr std::size_t size = 4096;
    constexpr Alignment wide{128};
    const auto& quiet = std::nothrow;
    for (int i = 0; i < calls; ++i) {
        operator delete(keep(operator new(size)));
        operator delete(keep(operator new(size)), size);
        operator delete(keep(operator new(size, quiet)), quiet);
        operator delete(keep(operator new(size, wide)), wide);
        operator delete(keep(operator new(size, wide)), size, wide);
        operator delete(keep(operator new(size, wide, quiet)), wide, quiet);
        operator delete[](keep(operator new[](size)));
        operator delete[](keep(operator new[](size)), size);
        operator delete[](keep(operator new[](size, quiet)), quiet);
        operator delete[](keep(operator new[](size, wide)), wide);
        operator delete[](keep(operator new[](size, wide)), size, wide);
        operator delete[](keep(operator new[](size, wide, quiet)), wide, quiet);
    }
}
SITE void huge_site() {
    for (int i = 0; i < 100; ++i) {
        try {
            operator delete(keep(operator new (std::size_t{1} << 62)));
            std::_Exit(9);
        } catch (const std::bad_alloc&) {
        }
    }
}

// mimalloc, which is made as C, ends the program where `new` finds no memory: then with any argument.
int main(int argc, char**) {
    constexpr int calls = 30000;
    new_site(calls);
    array_site(calls);
    aligned_new_site(calls);
    nothrow_site(calls);
    forms_site(calls);
    if (argc == 1) huge_site();
    ::usleep(100'000);
    std::printf(
        "new_site %d %d\narray_site %d %d\naligned_new_site %d %d\nnothrow_site %d %d\n"
        "forms_site %d %d\nhuge_site 0 0\n",
        calls * 5000, calls, calls * 7000, calls, calls * 6400, calls, calls * 4000, calls, calls * 12 * 4096,
        calls * 12);
}
