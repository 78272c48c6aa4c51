/* What threads of the host ask of the collector. A new one has its bit here, its line in Collector::handle(), and
 * is asked for in preload/ by `core->ask(...)`. */
#pragma once

enum flameprobe_request {
    request_nothing = 0, /* just an answer */
    request_start = 1,
    request_stop = 2,
    request_dump = 4,
    request_flush = 8, /* what was sampled up to now is in the file when it is answered */
    request_finish = 16,
    request_toggle = 32,
    request_secure = 64,        /* create the file now: the process is about to lose the right to */
    request_leave = 128,        /* end the thread; another will be launched */
    request_retire = 256,       /* finish, and give the memory back: another session follows */
    request_filter = 512,       /* a filter is about to be put on every thread: end if it would kill */
    request_yield = 1024,       /* the host takes the signal that the engine samples with: stop, and say so */
    request_credentials = 2048, /* the host's user may be another one: a collector that is no thread takes it too */
    request_replace = 4096      /* the image is about to go: its profile is complete when it is answered. If the image
                                   stays, sampling goes on */
};
