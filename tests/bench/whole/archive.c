/* A program whose work is fixed: archive ROUNDS FILE [MORE]. In each round it splits a text into words, counts them in
 * a table, sorts them by strcmp(3), and compresses the text by zlib in blocks. MORE: so many of a hundred blocks are
 * compressed once more, which is the change to be found. Prints what came out, so that nothing is left out. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { most_text = 256 * 1024, block = 2048, slots = 1 << 15, most_words = 60000 };

static char text[most_text + 1], words[most_text + 1];
static const char* table[slots];
static unsigned counts[slots];
static const char* list[most_words];
static size_t length, word_count;

__attribute__((noinline)) static void split_words(void) {
    memcpy(words, text, length + 1);
    word_count = 0;
    char* at = words;
    while (*at != 0 && word_count < most_words) {
        while (*at != 0 && (*at < 'A' || *at > 'z')) ++at;
        if (*at == 0) break;
        list[word_count++] = at;
        while (*at >= 'A' && *at <= 'z') ++at;
        if (*at != 0) *at++ = 0;
    }
}

static uint32_t hash_of(const char* word) {
    uint32_t hash = 2166136261u;
    for (; *word != 0; ++word) hash = (hash ^ (uint8_t)*word) * 16777619u;
    return hash;
}

__attribute__((noinline)) static unsigned count_words(void) {
    memset(table, 0, sizeof table);
    memset(counts, 0, sizeof counts);
    unsigned most = 0;
    for (size_t i = 0; i < word_count; ++i) {
        uint32_t slot = hash_of(list[i]) % slots;
        while (table[slot] != NULL && strcmp(table[slot], list[i]) != 0) slot = (slot + 1) % slots;
        table[slot] = list[i];
        if (++counts[slot] > most) most = counts[slot];
    }
    return most;
}

static int by_name(const void* one, const void* other) {
    return strcmp(*(const char* const*)one, *(const char* const*)other);
}

__attribute__((noinline)) static void sort_words(void) { qsort(list, word_count, sizeof *list, by_name); }

__attribute__((noinline)) static size_t compress_block(size_t from) {
    static Bytef out[2 * block + 64];
    uLongf size = sizeof out;
    const size_t part = length - from < block ? length - from : block;
    return compress2(out, &size, (const Bytef*)text + from, part, 6) == Z_OK ? size : 0;
}

int main(int argc, char** argv) {
    FILE* file = argc >= 3 ? fopen(argv[2], "r") : NULL;
    if (file == NULL) return fputs("usage: archive ROUNDS FILE [MORE]\n", stderr), 2;
    length = fread(text, 1, most_text, file);
    fclose(file);
    const long rounds = atol(argv[1]), more = argc > 3 ? atol(argv[3]) : 0;
    size_t sum = 0;
    long due = 0;
    for (long round = 0; round < rounds; ++round) {
        split_words();
        sum += count_words();
        sort_words();
        for (size_t from = 0; from < length; from += block) {
            sum += compress_block(from);
            for (due += more; due >= 100; due -= 100) sum += compress_block(from);
        }
    }
    printf("%zu\n", sum);
    return 0;
}
