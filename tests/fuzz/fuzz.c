/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz TARGET CORPUS SECONDS [SEED [NUMBER]]: reads every file of the folder CORPUS, then damaged ones for
 * SECONDS of processor time. With NUMBER, only that damaged one is read. A parser fails that crashes, leaks or reads out of
 * bounds (which a sanitizer reports), takes ten seconds over one file, or allocates more memory than the size
 * of the file can justify. The file it failed on is left in the working folder as TARGET.input.
 */
#include "fuzz/limit.h"
#include "fuzz/mutate.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MAX_FILES = 256, MAX_SECONDS_PER_FILE = 10 };
/* Bytes that a file of n bytes may allocate, in one block and in all: min + n * per_byte. One byte of JSON
 * can become a value of 24 bytes in an array that doubles, and an empty object, two bytes, a table of about
 * 300. */
static const size_t once_min = (size_t)128 << 10, once_per_byte = 128;
static const size_t total_min = (size_t)1 << 20, total_per_byte = 1024;

struct fuzz {
    const struct fuzz_target *target;
    struct fuzz_input corpus[MAX_FILES];
    int corpus_count;
    char path[64]; /* of the file that the parser reads */
    int descriptor;
    int64_t read, accepted;
};

/* Of the input that is being read, for messages. */
static char input_name[128];

void fuzz_fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "%s: ", input_name);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    abort();
}

void fuzz_count_memory(bool counts)
{
    limit_count(counts);
}

static void handle_alarm(int signal)
{
    (void)signal;
    static const char message[] = "an input takes longer than ten seconds\n";
    (void)!write(STDERR_FILENO, message, sizeof message - 1);
    abort();
}

static void give_up(const char *what, const char *path)
{
    perror(path);
    fprintf(stderr, "cannot %s %s\n", what, path);
    exit(2);
}

static int compare_names(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

static void load_file(struct fuzz *fuzz, const char *folder, const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    unsigned char *bytes = malloc(FUZZ_MAX_BYTES);
    if (!file || !bytes)
        give_up("read", path);
    fuzz->corpus[fuzz->corpus_count++] = (struct fuzz_input){bytes, fread(bytes, 1, FUZZ_MAX_BYTES, file)};
    fclose(file);
}

/* Sorted by name, so that a number means the same input everywhere. */
static void load_corpus(struct fuzz *fuzz, const char *folder)
{
    char *names[MAX_FILES];
    int count = 0;
    DIR *open = opendir(folder);
    if (!open)
        give_up("open", folder);
    for (struct dirent *entry; (entry = readdir(open));)
        if (entry->d_name[0] != '.' && count < MAX_FILES)
            names[count++] = strdup(entry->d_name);
    closedir(open);
    qsort(names, (size_t)count, sizeof *names, compare_names);
    for (int i = 0; i < count; i++) {
        load_file(fuzz, folder, names[i]);
        free(names[i]);
    }
    if (count == 0) {
        fprintf(stderr, "%s holds no files\n", folder);
        exit(2);
    }
}

static bool read_one(struct fuzz *fuzz, const struct fuzz_input *input)
{
    if (ftruncate(fuzz->descriptor, (off_t)input->count) != 0 ||
        pwrite(fuzz->descriptor, input->bytes, input->count, 0) != (ssize_t)input->count)
        give_up("write", fuzz->path);
    limit_reset();
    alarm(MAX_SECONDS_PER_FILE);
    bool accepted = fuzz->target->read(fuzz->path);
    alarm(0);
    size_t bytes = input->count * (size_t)(fuzz->target->memory > 0 ? fuzz->target->memory : 1);
    if (limit_largest() > once_min + once_per_byte * bytes ||
        limit_total() > total_min + total_per_byte * bytes)
        fuzz_fail("%zu bytes make it allocate a block of %zu bytes, and %zu in all", input->count,
                  limit_largest(), limit_total());
    fuzz->read++;
    fuzz->accepted += accepted;
    return accepted;
}

static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void read_mutant(struct fuzz *fuzz, uint64_t seed, uint32_t number, struct fuzz_input *made)
{
    snprintf(input_name, sizeof input_name, "%s, seed %llu, input %u", fuzz->target->name,
             (unsigned long long)seed, number);
    fuzz_mutate(fuzz->target, fuzz->corpus, fuzz->corpus_count, seed, number, made);
    read_one(fuzz, made);
}

static const struct fuzz_target *find_target(const char *name)
{
    for (int i = 0; fuzz_targets[i]; i++)
        if (strcmp(fuzz_targets[i]->name, name) == 0)
            return fuzz_targets[i];
    fprintf(stderr, "there is no target %s\n", name);
    exit(2);
}

int main(int count, char **arguments)
{
    if (count < 4 || count > 6) {
        fprintf(stderr, "usage: fuzz TARGET CORPUS SECONDS [SEED [NUMBER]]\n");
        return 2;
    }
    static struct fuzz fuzz;
    fuzz.target = find_target(arguments[1]);
    double end = seconds_now() + strtod(arguments[3], NULL);
    uint64_t seed = count > 4 ? strtoull(arguments[4], NULL, 10) : 1;
    load_corpus(&fuzz, arguments[2]);
    snprintf(fuzz.path, sizeof fuzz.path, "%s.input", fuzz.target->name);
    fuzz.descriptor = open(fuzz.path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (fuzz.descriptor < 0)
        give_up("create", fuzz.path);
    signal(SIGALRM, handle_alarm);
    limit_install();

    for (int i = 0; i < fuzz.corpus_count; i++) {
        snprintf(input_name, sizeof input_name, "%s, file %d of the corpus", fuzz.target->name, i + 1);
        read_one(&fuzz, &fuzz.corpus[i]);
    }
    if (fuzz.accepted == 0)
        fuzz_fail("no file of the corpus is accepted: nothing after the first check is tested");
    struct fuzz_input made = {.bytes = malloc(FUZZ_MAX_BYTES)};
    if (!made.bytes)
        return 2;
    if (count > 5)
        read_mutant(&fuzz, seed, (uint32_t)strtoul(arguments[5], NULL, 10), &made);
    for (uint32_t number = 0; count <= 5 && seconds_now() < end; number++)
        read_mutant(&fuzz, seed, number, &made);

    free(made.bytes);
    for (int i = 0; i < fuzz.corpus_count; i++)
        free(fuzz.corpus[i].bytes);
    close(fuzz.descriptor);
    unlink(fuzz.path);
    printf("%s: %lld inputs from seed %llu, of which %lld were accepted\n", fuzz.target->name,
           (long long)fuzz.read, (unsigned long long)seed, (long long)fuzz.accepted);
    return 0;
}
