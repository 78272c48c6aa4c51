/* libflameprobe-libraries.so has no code: it only needs the libraries that the core loads late
   (session/delay_load.hpp). So their names and places are what the linker found, and packagers' tools see them. */
struct flameprobe_libraries; /* ISO C wants a declaration */
