/* Included before every file of the tarball's build: what glibc 2.31's headers do not declare. */
#ifdef __cplusplus
extern "C" const char* strerrordesc_np(int error) noexcept;
#else
const char* strerrordesc_np(int error);
#endif
