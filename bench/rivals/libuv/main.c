/* Answers lines with libuv's uv_write, written as the echo server of its guide (docs.libuv.org, "Networking"): each read has
* a buffer of the size that libuv suggests, 64 KiB, freed after use; each write has a request with its own buffer, freed
* when the write has completed. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

enum { BACKLOG = 4096 };

static size_t reply_size = 400;
static char *reply;

struct connection {
    uv_tcp_t handle;
};

struct output {
    uv_write_t request;
    char bytes[];
};

static void *need(void *memory)
{
    if (memory == NULL) {
        fputs("out of memory\n", stderr);
        exit(1);
    }
    return memory;
}

static void closed(uv_handle_t *handle)
{
    free(handle->data);
}

static void lend(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
    (void)handle;
    *buffer = uv_buf_init(need(malloc(suggested)), (unsigned)suggested);
}

static void written(uv_write_t *request, int status)
{
    (void)status;
    free(request->data);
}

static void answer(uv_stream_t *stream, size_t lines)
{
    struct output *output = need(malloc(sizeof *output + lines * reply_size));
    for (size_t line = 0; line < lines; line++)
        memcpy(output->bytes + line * reply_size, reply, reply_size);
    output->request.data = output;
    uv_buf_t buffer = uv_buf_init(output->bytes, (unsigned)(lines * reply_size));
    if (uv_write(&output->request, stream, &buffer, 1, written) != 0)
        free(output);
}

static void received(uv_stream_t *stream, ssize_t length, const uv_buf_t *buffer)
{
    if (length < 0) {
        free(buffer->base);
        uv_close((uv_handle_t *)stream, closed);
        return;
    }
    size_t lines = 0;
    const char *at = buffer->base, *end = buffer->base + length;
    while (at < end && (at = memchr(at, '\n', (size_t)(end - at))) != NULL) {
        lines++;
        at++;
    }
    if (lines > 0)
        answer(stream, lines);
    free(buffer->base);
}

static void accepted(uv_stream_t *listener, int status)
{
    if (status < 0)
        return;
    struct connection *connection = need(malloc(sizeof *connection));
    uv_tcp_init(listener->loop, &connection->handle);
    connection->handle.data = connection;
    if (uv_accept(listener, (uv_stream_t *)&connection->handle) != 0) {
        uv_close((uv_handle_t *)&connection->handle, closed);
        return;
    }
    uv_tcp_nodelay(&connection->handle, 1);
    uv_read_start((uv_stream_t *)&connection->handle, lend, received);
}

int main(int argc, char **argv)
{
    for (int at = 1; at + 1 < argc; at++)
        if (strcmp(argv[at], "--reply") == 0)
            reply_size = strtoul(argv[at + 1], NULL, 10);
    reply = need(malloc(reply_size));
    memset(reply, 'r', reply_size);

    uv_tcp_t listener;
    struct sockaddr_in address;
    uv_tcp_init(uv_default_loop(), &listener);
    uv_ip4_addr("127.0.0.1", 0, &address);
    uv_tcp_bind(&listener, (const struct sockaddr *)&address, 0);
    int failed = uv_listen((uv_stream_t *)&listener, BACKLOG, accepted);
    if (failed) {
        fprintf(stderr, "listen: %s\n", uv_strerror(failed));
        return 1;
    }
    int length = sizeof address;
    uv_tcp_getsockname(&listener, (struct sockaddr *)&address, &length);
    printf("listening 127.0.0.1:%d\n", ntohs(address.sin_port));
    fflush(stdout);
    return uv_run(uv_default_loop(), UV_RUN_DEFAULT);
}
