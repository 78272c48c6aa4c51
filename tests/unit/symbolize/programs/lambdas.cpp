// Closures, which have no names, inlined and not, in every kind of scope.
#include "marked.hpp"

namespace engine {

volatile int sink;

struct Config {
    int n;
};

template <class F>
__attribute__((always_inline)) inline void call(F f) {
    f(sink);
}
template <class F>
__attribute__((noinline)) void call_apart(F f) {
    f(sink);
}

#define INLINED __attribute__((always_inline))

__attribute__((noinline)) void run(const Config& config) {
    call([&](int i) INLINED {
        MARK(first);
        sink = i + config.n;
    });
    call([&](int i) INLINED {
        MARK(second);
        sink = i - config.n;
    });
    if (sink > 3) {
        call([&](auto i) INLINED {
            MARK(generic);
            sink = i * config.n;
        });
    }
    call_apart([&](int i) {
        MARK(apart);
        sink = i ^ config.n;
    });
    struct Local {
        INLINED static void go() {
            call([](int i) INLINED {
                MARK(in_local);
                sink = i * 7;
            });
        }
    };
    Local::go();
}

__attribute__((noinline)) void run(int n) {
    call([n](int i) INLINED {
        MARK(overload);
        sink = i / (n | 1);
    });
}

namespace {

__attribute__((noinline)) void hidden(int n) {
    call([n](int i) INLINED {
        MARK(hidden);
        sink = i * n;
    });
}

__attribute__((noinline)) void hidden(const Config& config) {
    call([&](int i) INLINED {
        MARK(hidden_overload);
        sink = i / (config.n | 1);
    });
}

}  // namespace

struct Widget {
    int member = 1;
    __attribute__((noinline)) void use() const {
        call([this](int i) INLINED {
            MARK(method);
            sink = i + member;
        });
    }
};

}  // namespace engine

int main(int argc, char**) {
    engine::run(engine::Config{argc});
    engine::run(argc);
    engine::hidden(argc);
    engine::hidden(engine::Config{argc});
    engine::Widget{argc}.use();
    engine::call([argc](int i) INLINED {
        MARK(in_main);
        engine::sink = i + argc;
    });
    return 0;
}
