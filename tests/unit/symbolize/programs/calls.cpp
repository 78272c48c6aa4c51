// Inlined chains, and functions whose names take some work. Compiled in every way that debug information comes.
#include <cstdio>
#include <cstdlib>

#include "marked.hpp"

namespace shop {

volatile int sink;

struct Basket {
    __attribute__((always_inline)) explicit Basket(int n) : items(n) {
        MARK(constructor);
        sink = n;
    }
    __attribute__((noinline)) int total(int price) const;
    int items;
};

__attribute__((always_inline)) inline int leaf(int value) {
    MARK(leaf);
    return value + sink;
}

template <class T>
__attribute__((always_inline)) inline T middle(T value) {
    const int deeper = leaf(static_cast<int>(value));  // call of leaf
    return static_cast<T>(deeper * 2);
}

__attribute__((noinline)) int Basket::total(int price) const {
    const long sum = middle<long>(items * price);  // call of middle
    MARK(total);
    return static_cast<int>(sum) + sink;
}

}  // namespace shop

namespace {

__attribute__((noinline)) int hidden(int value) {
    MARK(hidden);
    return value + shop::sink;
}

}  // namespace

__attribute__((noinline)) int with_lambda(int value) {
    const auto add = [value](int more) __attribute__((noinline)) {
        MARK(lambda);
        return value + more + shop::sink;
    };
    return add(value * 2) + add(value);
}

__attribute__((noinline)) int with_local_class(int value) {
    struct Local {
        __attribute__((noinline)) int run(int more) const {
            MARK(local_class);
            return more + shop::sink;
        }
    };
    return Local{}.run(value);
}

int main(int argc, char**) {
    const shop::Basket basket(argc);  // call of the constructor
    const int sum = basket.total(3) + hidden(argc) + with_lambda(argc) + with_local_class(argc);
    MARK(main);
    std::printf("%d\n", sum);
    return std::abs(sum) > 100 ? 1 : 0;
}
