// Flooding in FIFO order: one program in C11 for the hosts and stations of mobilenet, which exchanges lines of JSON.
// It needs only the standard library. To build it, and to use it in a scenario in the same folder:
//
//     cc -O2 -o flood flood.c
//     protocol: {command: [./flood], promises: fifo}
//
// The program sends the same messages as flood.py, but shares no code with it. A host repeats its message until its
// station has it. A station keeps the messages of each sender in order, sends new ones to its cell and to the other
// stations, and sends a host the messages that the host reports as missing. A host delivers a message only after all
// earlier messages of its sender. With --bug, an intentional mistake, a station mistakes a message that it already has
// for another message of its sender, so it sends its hosts messages that no host has broadcast.
//
// The emulator writes compact JSON with keys in a fixed order, and this program reads only integers from it. So it is
// enough to find a key and to read the numbers after it.
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { AT_ONCE = 5, LONGEST = 1 << 20 }; // number of missing messages sent to a host at once; bytes of a line

typedef struct { long *sizes, count; } Log; // of one sender: the sizes of its bodies, in order

static char line[LONGEST + 2];
static long numbers[LONGEST / 2]; // of a message or of the stored state: each is followed by a comma or a bracket
static long hosts, me;
static bool bug;

static void append(Log *log, long size) {
    log->sizes = realloc(log->sizes, (size_t)(log->count + 1) * sizeof(long));
    if (log->sizes == NULL) exit(EXIT_FAILURE);
    log->sizes[log->count++] = size;
}

// Returns the text after the first such key, or "".
static const char *value_of(const char *key, const char *from) {
    const char *match = strstr(from, key);
    return match == NULL ? "" : match + strlen(key);
}

static bool begins(const char *text, const char *with) { return strncmp(text, with, strlen(with)) == 0; }

// Reads all integers from there to the end of the line into `numbers`, and returns their count.
static long read_numbers(const char *at) {
    long count = 0;
    while (*at != '\0') {
        char *end;
        long number = strtol(at, &end, 10);
        if (end != at) numbers[count++] = number;
        at = end == at ? at + 1 : end;
    }
    return count;
}

// --- a host. All of its state except its cell survives a crash

static long cell = -1; // -1: in no cell
static long member, session, taken; // taken: number of its own messages that a station has
static long *next; // for each sender, the next number to deliver
static Log own;

static void save_memory(void) {
    printf("{\"do\":\"store\",\"stable\":[%ld,%ld,%ld", member, session, taken);
    for (long sender = 0; sender < hosts; sender++) printf(",%ld", next[sender]);
    for (long number = 0; number < own.count; number++) printf(",%ld", own.sizes[number]);
    printf("]}\n{\"do\":\"settled\",\"value\":%s}\n", !member || taken == own.count ? "true" : "false");
}

static void start_timer(void) { puts("{\"do\":\"timer\",\"name\":\"tick\",\"between_ns\":[200000000,400000000]}"); }

static void start_host(const char *stable) {
    long count = read_numbers(stable); // 0 before its first crash
    if (count > 0) member = numbers[0], session = numbers[1], taken = numbers[2];
    for (long at = 3; at < count; at++) {
        if (at < 3 + hosts) next[at - 3] = numbers[at];
        else append(&own, numbers[at]);
    }
    start_timer();
}

static void deliver(long sender, long number) {
    next[sender] = number + 1;
    printf("{\"do\":\"deliver\",\"id\":[%ld,%ld]}\n", sender, number);
    save_memory();
}

static void offer(void) { // sends the oldest of the host's messages that no station has
    if (cell < 0 || taken >= own.count) return;
    long size = own.sizes[taken];
    printf("{\"do\":\"send\",\"to\":%ld,\"message\":[\"new\",[%ld,%ld],%ld],", cell, me, taken, size);
    printf("\"bytes\":%ld,\"payload_bytes\":%ld}\n", 16 + size, size);
}

static void tell_what_it_has(void) {
    long count = 0;
    printf("{\"do\":\"send\",\"to\":%ld,\"message\":[\"have\"", cell);
    for (long sender = 0; sender < hosts; sender++) {
        if (next[sender] > 0) count++, printf(",%ld,%ld", sender, next[sender]);
    }
    printf("],\"bytes\":%ld}\n", 16 + 8 * count);
}

static void host(const char *event) {
    const char *message = value_of("\"message\":", line);
    if (begins(event, "\"cell\"")) {
        const char *station = value_of("\"station\":", line);
        cell = begins(station, "null") ? -1 : atol(station);
    } else if (begins(event, "\"join\"") && cell >= 0 && !member) {
        member = 1;
        printf("{\"do\":\"joined\",\"session\":%ld,\"station\":%ld}\n", ++session, cell);
        save_memory();
    } else if (begins(event, "\"leave\"") && member) {
        member = 0;
        printf("{\"do\":\"left\",\"session\":%ld}\n", session);
        save_memory();
    } else if (begins(event, "\"broadcast\"") && !member) {
        puts("{\"do\":\"refuse\"}");
    } else if (begins(event, "\"broadcast\"")) {
        append(&own, atol(value_of("\"payload_bytes\":", line)));
        read_numbers(value_of("\"id\":", line));
        deliver(numbers[0], numbers[1]);
        offer();
    } else if (begins(event, "\"timer\"")) {
        if (member && cell >= 0) offer(), tell_what_it_has();
        start_timer();
    } else if (begins(event, "\"receive\"") && read_numbers(message) >= 2) {
        if (begins(message, "[\"got\"") && numbers[0] == me) {
            if (numbers[1] > taken) taken = numbers[1];
            save_memory();
        } else if (begins(message, "[\"told\"") && member && numbers[1] == next[numbers[0]]) {
            deliver(numbers[0], numbers[1]);
        }
    }
}

// --- a station. It never crashes

static Log *logs; // one for each sender

static void tell(const char *how, const char *to, long sender, long number) {
    long size = logs[sender].sizes[number];
    printf("{\"do\":\"%s\",%s\"message\":[\"told\",[%ld,%ld],%ld],", how, to, sender, number, size);
    printf("\"bytes\":%ld,\"payload_bytes\":%ld}\n", 16 + size, size);
}

static bool take(long sender, long number, long size) { // returns whether it is the next one of its sender
    if (bug ? number > logs[sender].count : number != logs[sender].count) return false;
    append(&logs[sender], size);
    tell("broadcast", "", sender, number);
    return true;
}

static void station(const char *event) {
    const char *message = value_of("\"message\":", line);
    long last = read_numbers(message), from = atol(value_of("\"from\":", line)), left = AT_ONCE;
    if (begins(event, "\"wire\"")) {
        take(numbers[0], numbers[1], numbers[2]);
    } else if (begins(message, "[\"new\"")) {
        if (take(numbers[0], numbers[1], numbers[2])) tell("wire", "\"to\":null,", numbers[0], numbers[1]);
        long count = logs[from].count;
        printf("{\"do\":\"send\",\"to\":%ld,\"message\":[\"got\",%ld,%ld],\"bytes\":16}\n", from, from, count);
    } else if (begins(message, "[\"have\"")) {
        char to[40];
        snprintf(to, sizeof to, "\"to\":%ld,", from);
        for (long sender = 0, at = 0; sender < hosts; sender++) { // the pairs are in the order of senders
            long number = 0;
            if (at < last && numbers[at] == sender) number = numbers[at + 1], at += 2;
            for (; number < logs[sender].count && left > 0; number++, left--) tell("send", to, sender, number);
        }
    }
}

int main(int count, char **words) {
    bug = count > 1 && strcmp(words[1], "--bug") == 0;
    bool is_host = false;
    while (fgets(line, sizeof line, stdin) != NULL) {
        const char *event = value_of("{\"ev\":", line);
        if (begins(event, "\"stop\"")) return EXIT_SUCCESS;
        if (begins(event, "\"start\"")) {
            is_host = begins(value_of("\"role\":", line), "\"host\"");
            me = atol(value_of("\"me\":", line)), hosts = atol(value_of("\"hosts\":", line));
            next = calloc((size_t)hosts, sizeof *next), logs = calloc((size_t)hosts, sizeof *logs);
            if (next == NULL || logs == NULL) return EXIT_FAILURE;
            const char *stable = line; // the last such key: the scenario's settings, written before it, may have one
            for (const char *at = line; *(at = value_of("\"stable\":", at)) != '\0';) stable = at;
            if (is_host) start_host(stable);
        } else if (is_host) host(event);
        else station(event);
        puts("{\"do\":\"done\"}");
        fflush(stdout);
    }
    return EXIT_FAILURE; // the emulator did not ask the program to stop
}
