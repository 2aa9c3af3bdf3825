// SPDX-License-Identifier: MIT

// What the fake libraries share: memory that a test's NIC and a GPU see apart, and the wish of a
// test that a function fails: FAKE="NAME=CODE NAME=CODE".
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

// The vendors' prototypes, where their headers are installed: a definition that differs from them
// does not compile. Else our own types, of the same size.

static int told(const char *name, int otherwise)
{
	const char *wish = getenv("FAKE");
	size_t n = strlen(name);

	for (const char *p = wish; p && *p; p = strchr(p, ' ') ? strchr(p, ' ') + 1 : NULL)
		if (!strncmp(p, name, n) && p[n] == '=')
			return atoi(p + n + 1);
	return otherwise;
}

#define FAIL(name)                                                                                 \
	do {                                                                                       \
		int code = told(#name, 0);                                                         \
		if (code)                                                                          \
			return code;                                                               \
	} while (0)

struct memory {
	int fd;        // what is exported
	char *nic;     // its bytes, as a NIC has them
	char *vram;    // its bytes, as the GPU has them
	size_t size;   // without the offset
	size_t before; // bytes of another allocation, before it
};

static struct memory *all[8];
static int live; // what was not given back

// left tells the test how much was not given back, at the end.
static void left(void)
{
	const char *path = getenv("FAKE_LEFT");
	FILE *f = path ? fopen(path, "w") : NULL;

	if (f) {
		fprintf(f, "%d", live);
		fclose(f);
	}
}

static struct memory *make(size_t size, size_t before)
{
	struct memory *m = calloc(1, sizeof(*m));

	m->size = size;
	m->before = before;
	m->fd = memfd_create("fake-gpu", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (m->fd < 0 || ftruncate(m->fd, before + size) || fcntl(m->fd, F_ADD_SEALS, F_SEAL_SHRINK))
		return NULL;
	m->nic = mmap(NULL, before + size, PROT_READ | PROT_WRITE, MAP_SHARED, m->fd, 0);
	m->nic += before;
	m->vram = malloc(size);
	memset(m->vram, 0xa5, size); // what another program left there
	memset(m->nic, 0xa5, size);
	for (int i = 0; i < 8; i++)
		if (!all[i]) {
			all[i] = m;
			break;
		}
	live++;
	return m;
}

// exported is a descriptor of the memory: a dmabuf where the kernel makes one of a memfd, else a memfd.
__attribute__((unused)) static int exported(struct memory *m)
{
	struct {
		uint32_t memfd, flags;
		uint64_t offset, size;
	} create = {m->fd, 1, 0, m->before + m->size}; // struct udmabuf_create
	int dev = open("/dev/udmabuf", O_RDWR | O_CLOEXEC);
	int fd = dev < 0 ? dup(m->fd) : ioctl(dev, _IOW('u', 0x42, create), &create);

	if (dev >= 0)
		close(dev);
	return fd;
}

static void drop(struct memory *m)
{
	for (int i = 0; i < 8; i++)
		if (all[i] == m)
			all[i] = NULL;
	close(m->fd);
	live--;
}

static void writes_arrive(void) // what a NIC wrote is there for the GPU
{
	for (int i = 0; i < 8; i++)
		if (all[i])
			memcpy(all[i]->vram, all[i]->nic, all[i]->size);
}

static void copies_arrive(void) // what the GPU copied is there for a NIC
{
	for (int i = 0; i < 8; i++)
		if (all[i])
			memcpy(all[i]->nic, all[i]->vram, all[i]->size);
}
