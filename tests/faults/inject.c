/* Makes one system call on the files of a store fail, from beneath the process: loaded by LD_PRELOAD.

   Counts the calls that concern files below one folder. The n-th of them fails with an error, or from the n-th on
   all do, or the n-th read or write does half of its work. Built with: cc -shared -fPIC -O1 inject.c -o inject.so */

#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum mode { ONCE, FROM_THEN_ON, HALF };
enum { FILES = 65536, LONGEST = 4096, CALLS = 1 << 20 };

static char root[LONGEST];
static char ours[FILES];          /* by file descriptor: is it a file of the store? */
static const char *trail[CALLS];  /* the calls that came, in order */
static long calls, target;
static int error;
static enum mode how;
static const char *hit;

void faults_arm(const char *folder, long nth, int number, int mode) {
    strncpy(root, folder, LONGEST - 1);
    calls = 0, target = nth, error = number, how = mode, hit = 0;
}
long faults_disarm(void) {
    root[0] = 0;
    return calls;
}
const char *faults_hit(void) { return hit ? hit : ""; }
const char *faults_call(long n) { return n >= 0 && n < calls && n < CALLS ? trail[n] : ""; }

static int below(const char *path) {
    size_t length = strlen(root);
    return length && path && !strncmp(path, root, length) && (path[length] == '/' || !path[length]);
}
static int known(int fd) { return root[0] && fd >= 0 && fd < FILES && ours[fd]; }
static void know(int fd, int is_ours) {
    if (fd >= 0 && fd < FILES) ours[fd] = is_ours;
}
/* Count a call; true if it is to fail, with errno set. Half of the work is no failure. */
static int fails(const char *name) {
    long n = __atomic_fetch_add(&calls, 1, __ATOMIC_SEQ_CST);
    if (n < CALLS) trail[n] = name;
    if (how == HALF || n < target || (n > target && how == ONCE)) return 0;
    if (!hit) hit = name;
    errno = error;
    return 1;
}
/* Count a read or write; the size that is left of it. */
static size_t halved(const char *name, size_t size, int *failed) {
    long n = calls;
    *failed = fails(name);
    if (how != HALF || n != target || size < 2) return size;
    hit = name;
    return size / 2;
}

#define NEXT(name) \
    static __typeof__(&name) next; \
    if (!next) next = (__typeof__(&name))dlsym(RTLD_NEXT, #name)
#define FAIL(condition, label, result) if ((condition) && fails(label)) return result
#define MODE(flags, mode) \
    mode_t mode = 0; \
    if ((flags) & (O_CREAT | O_TMPFILE)) { va_list rest; va_start(rest, flags); mode = va_arg(rest, mode_t); va_end(rest); }

#define OPEN(name) \
    int name(const char *path, int flags, ...) { \
        NEXT(name); MODE(flags, mode) \
        int is_ours = below(path); FAIL(is_ours, "open", -1); \
        int fd = next(path, flags, mode); know(fd, is_ours); return fd; }
#define OPENAT(name) \
    int name(int at, const char *path, int flags, ...) { \
        NEXT(name); MODE(flags, mode) \
        int is_ours = below(path) || (path[0] != '/' && known(at)); FAIL(is_ours, "openat", -1); \
        int fd = next(at, path, flags, mode); know(fd, is_ours); return fd; }
OPEN(open) OPEN(open64) OPENAT(openat) OPENAT(openat64)

int close(int fd) {
    NEXT(close);
    int failed = known(fd) && fails("close"), number = errno;
    know(fd, 0);
    int done = next(fd); /* as Linux does: it is closed even where it fails */
    if (!failed) return done;
    errno = number;
    return -1;
}
#define DUP(name, arguments, passed) \
    int name arguments { NEXT(name); FAIL(known(fd), "dup", -1); int copy = next passed; know(copy, known(fd)); return copy; }
DUP(dup, (int fd), (fd))
DUP(dup2, (int fd, int to), (fd, to))
DUP(dup3, (int fd, int to, int flags), (fd, to, flags))
#define FCNTL(name) \
    int name(int fd, int command, ...) { \
        NEXT(name); \
        va_list rest; va_start(rest, command); void *argument = va_arg(rest, void *); va_end(rest); \
        FAIL(known(fd), "fcntl", -1); \
        int done = next(fd, command, argument); \
        if (command == F_DUPFD || command == F_DUPFD_CLOEXEC) know(done, known(fd)); \
        return done; }
FCNTL(fcntl) FCNTL(fcntl64)

#define READ(name, label, arguments, passed) \
    ssize_t name arguments { \
        NEXT(name); \
        if (known(fd)) { int failed; size = halved(label, size, &failed); if (failed) return -1; } \
        return next passed; }
READ(read, "read", (int fd, void *data, size_t size), (fd, data, size))
READ(pread, "pread", (int fd, void *data, size_t size, off_t at), (fd, data, size, at))
READ(pread64, "pread", (int fd, void *data, size_t size, off64_t at), (fd, data, size, at))
READ(write, "write", (int fd, const void *data, size_t size), (fd, data, size))
READ(pwrite, "pwrite", (int fd, const void *data, size_t size, off_t at), (fd, data, size, at))
READ(pwrite64, "pwrite", (int fd, const void *data, size_t size, off64_t at), (fd, data, size, at))

#define ON_FILE(name, label, arguments, passed) \
    int name arguments { NEXT(name); FAIL(known(fd), label, -1); return next passed; }
ON_FILE(fsync, "fsync", (int fd), (fd))
ON_FILE(fdatasync, "fdatasync", (int fd), (fd))
ON_FILE(ftruncate, "ftruncate", (int fd, off_t size), (fd, size))
ON_FILE(ftruncate64, "ftruncate", (int fd, off64_t size), (fd, size))
ON_FILE(flock, "flock", (int fd, int what), (fd, what))
ON_FILE(fchmod, "fchmod", (int fd, mode_t mode), (fd, mode))
ON_FILE(fstat, "fstat", (int fd, struct stat *out), (fd, out))
ON_FILE(fstat64, "fstat", (int fd, struct stat64 *out), (fd, out))
off_t lseek(int fd, off_t to, int from) { NEXT(lseek); FAIL(known(fd), "lseek", -1); return next(fd, to, from); }
off64_t lseek64(int fd, off64_t to, int from) { NEXT(lseek64); FAIL(known(fd), "lseek", -1); return next(fd, to, from); }

#define ON_PATH(name, label, arguments, passed) \
    int name arguments { NEXT(name); FAIL(below(path), label, -1); return next passed; }
ON_PATH(mkdir, "mkdir", (const char *path, mode_t mode), (path, mode))
ON_PATH(rmdir, "rmdir", (const char *path), (path))
ON_PATH(unlink, "unlink", (const char *path), (path))
ON_PATH(rename, "rename", (const char *path, const char *to), (path, to))
ON_PATH(link, "link", (const char *path, const char *to), (path, to))
ON_PATH(chmod, "chmod", (const char *path, mode_t mode), (path, mode))
ON_PATH(truncate, "truncate", (const char *path, off_t size), (path, size))
ON_PATH(truncate64, "truncate", (const char *path, off64_t size), (path, size))
ON_PATH(access, "access", (const char *path, int mode), (path, mode))
ON_PATH(stat, "stat", (const char *path, struct stat *out), (path, out))
ON_PATH(stat64, "stat", (const char *path, struct stat64 *out), (path, out))
ON_PATH(lstat, "stat", (const char *path, struct stat *out), (path, out))
ON_PATH(lstat64, "stat", (const char *path, struct stat64 *out), (path, out))
ON_PATH(fstatat, "stat", (int at, const char *path, struct stat *out, int flags), (at, path, out, flags))
ON_PATH(fstatat64, "stat", (int at, const char *path, struct stat64 *out, int flags), (at, path, out, flags))

#define MAP(name, offset) \
    void *name(void *where, size_t size, int access, int flags, int fd, offset at) { \
        NEXT(name); FAIL(known(fd), "mmap", MAP_FAILED); return next(where, size, access, flags, fd, at); }
MAP(mmap, off_t) MAP(mmap64, off64_t)

DIR *opendir(const char *path) {
    NEXT(opendir);
    int is_ours = below(path);
    FAIL(is_ours, "opendir", 0);
    DIR *found = next(path);
    if (found) know(dirfd(found), is_ours);
    return found;
}
struct dirent64 *readdir64(DIR *folder) { NEXT(readdir64); FAIL(known(dirfd(folder)), "readdir", 0); return next(folder); }
int closedir(DIR *folder) { NEXT(closedir); know(dirfd(folder), 0); return next(folder); }

/* Python that was built against a C library before 2.33 calls these instead of stat and fstat. */
#define OLD(name, label, condition, arguments, passed) \
    int name arguments; \
    int name arguments { NEXT(name); FAIL(condition, label, -1); return next passed; }
OLD(__fxstat, "fstat", known(fd), (int v, int fd, struct stat *out), (v, fd, out))
OLD(__fxstat64, "fstat", known(fd), (int v, int fd, struct stat64 *out), (v, fd, out))
OLD(__xstat, "stat", below(path), (int v, const char *path, struct stat *out), (v, path, out))
OLD(__xstat64, "stat", below(path), (int v, const char *path, struct stat64 *out), (v, path, out))
OLD(__lxstat, "stat", below(path), (int v, const char *path, struct stat *out), (v, path, out))
OLD(__lxstat64, "stat", below(path), (int v, const char *path, struct stat64 *out), (v, path, out))
