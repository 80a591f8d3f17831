/*
 * Replays a corpus without libFuzzer: every file named, and every file in the folders
 * named, goes through LLVMFuzzerTestOneInput once, in a piece of memory of exactly its size
 * so that sanitizers see a read past its end.
 *
 * Exit 0: all were replayed (an input that must not be would have stopped the process);
 * 1: one could not be read, or there were none.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

enum { INPUT_MAX = 4 * 1024 * 1024, PATH_LENGTH_MAX = 4096 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static int replay_path(const char *path, size_t *count);

int main(int argc, char **argv)
{
	size_t count = 0;

	for (int i = 1; i < argc; i++) {
		if (replay_path(argv[i], &count) != 0)
			return 1;
	}
	if (count == 0) {
		fprintf(stderr, "replay: no inputs; name files or folders\n");
		return 1;
	}
	printf("replayed %zu inputs\n", count);
	return 0;
}

static int complain(const char *path)
{
	perror(path);
	return -1;
}

static int replay_file(const char *path, size_t size)
{
	FILE *file = fopen(path, "rb");
	uint8_t *bytes = malloc(size ? size : 1);
	size_t got = 0;

	if (file && bytes)
		got = fread(bytes, 1, size, file);
	if (file)
		fclose(file);
	if (file && bytes && got == size)
		LLVMFuzzerTestOneInput(bytes, size);
	free(bytes);
	return file && bytes && got == size ? 0 : complain(path);
}

static int replay_folder(const char *path, size_t *count)
{
	char inner[PATH_LENGTH_MAX];
	struct dirent *entry;
	DIR *folder = opendir(path);
	int r = 0;

	if (!folder)
		return complain(path);
	while (r == 0 && (entry = readdir(folder))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(inner, sizeof(inner), "%s/%s", path, entry->d_name);
		r = replay_path(inner, count);
	}
	closedir(folder);
	return r;
}

/* Folders inside folders are followed; a tree of files has an end. */
static int replay_path(const char *path, size_t *count)
{
	struct stat about;

	if (stat(path, &about) != 0)
		return complain(path);
	if (S_ISDIR(about.st_mode))
		return replay_folder(path, count);
	if (about.st_size > INPUT_MAX) {
		fprintf(stderr, "%s: larger than %d bytes\n", path, INPUT_MAX);
		return -1;
	}
	(*count)++;
	return replay_file(path, (size_t)about.st_size);
}
