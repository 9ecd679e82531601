# cython: language_level=3
"""The handler of SIGBUS; `cut_files.py` says the rules."""

cdef extern from *:
    """
    #ifdef _WIN32
    static int kw_outlive_cuts(void) { return 0; }
    #else
    #include <signal.h>
    #include <stdint.h>
    #include <sys/mman.h>
    #include <unistd.h>

    static uintptr_t kw_page_size;
    static struct sigaction kw_before;

    static void kw_put_page(int number, siginfo_t *info, void *context) {
        (void) number; (void) context;
        if (info->si_code == BUS_ADRERR) {
            void *page = (void *) ((uintptr_t) info->si_addr & ~(kw_page_size - 1));
            if (mmap(page, kw_page_size, PROT_READ, MAP_PRIVATE | MAP_ANON | MAP_FIXED, -1, 0) == page)
                return;
        }
        sigaction(SIGBUS, &kw_before, NULL);  /* the read is repeated, and ends as it did before */
    }

    static int kw_outlive_cuts(void) {
        struct sigaction action = {0};
        if (kw_page_size)
            return 1;
        kw_page_size = (uintptr_t) sysconf(_SC_PAGESIZE);
        action.sa_sigaction = kw_put_page;
        action.sa_flags = SA_SIGINFO;
        sigemptyset(&action.sa_mask);
        return sigaction(SIGBUS, &action, &kw_before) == 0;
    }
    #endif
    """
    int kw_outlive_cuts()


def outlive_cuts():
    return bool(kw_outlive_cuts())
